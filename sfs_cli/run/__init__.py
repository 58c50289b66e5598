"""What each verb of the command line does, as one function of one configuration."""
