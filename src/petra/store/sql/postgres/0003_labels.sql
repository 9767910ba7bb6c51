-- Executions are found by their labels; of playbooks, those that were applied are the current ones of their paths.

CREATE INDEX executions_by_label ON executions USING gin ((labels::jsonb) jsonb_path_ops) WHERE labels <> '{}';

-- so far, whatever was run was kept as if it had been applied
UPDATE playbooks SET applied = 0;
