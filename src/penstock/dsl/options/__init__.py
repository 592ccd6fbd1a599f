"""What users pass to the faces: names, serdes, stores, windows' emission, suppression."""
