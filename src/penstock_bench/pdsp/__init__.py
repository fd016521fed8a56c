"""The measured Storm runs of PDSP-Bench, and formulas fitted to them: how good can a model be?"""
