"""`evaljudge view`: a run's page over all of its texts, served to a browser on this machine."""
