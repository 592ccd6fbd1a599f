"""Session stores: their three layouts and the typed store on top."""
