SET binlog_row_value_options='PARTIAL_JSON';
CREATE TABLE d (id INT PRIMARY KEY, j JSON, n INT, k JSON);
INSERT INTO d VALUES (1, JSON_OBJECT('a', REPEAT('x', 200), 'b', 1), 5, NULL), (2, '[1]', 6, '{}');
UPDATE d SET j = JSON_SET(j, '$.b', 2) WHERE id = 1;
UPDATE d SET n = 7 WHERE id = 2;
UPDATE d SET k = JSON_SET(k, '$.q', 'w'), n = 8 WHERE id = 2;
UPDATE d SET j = '[2]', k = '{"z": 1}' WHERE id = 2;
