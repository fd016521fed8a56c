"""What Storm says without our reporter: metrics log, registry, answers of its UI; to samples."""
