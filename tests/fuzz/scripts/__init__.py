"""Random scripts: ``generate`` writes one with its records, ``model`` says what comes out."""
