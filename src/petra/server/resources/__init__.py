"""The resources of the API, a file each."""
