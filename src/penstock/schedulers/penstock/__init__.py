"""Our own scheduler: start at :mod:`.scheduler`.

It searches on the :mod:`.aggregate` for plans with even shares (:mod:`.sizes`, with many components
:mod:`.columns`) and with shares of their own (:mod:`.weighted`).
"""
