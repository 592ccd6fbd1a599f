"""Window stores: their keys, their three layouts and the typed store on top."""
