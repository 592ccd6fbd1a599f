"""The console in a browser: what it shows of applications, made up and real."""
