-- A playbook as its author wrote it, where that is known; what is run is the text in playbooks.

ALTER TABLE catalogue ADD COLUMN text BLOB;
