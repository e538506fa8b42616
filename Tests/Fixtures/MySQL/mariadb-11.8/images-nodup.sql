SET GLOBAL binlog_row_image='FULL_NODUP';
CREATE TABLE lists (id CHAR(36) PRIMARY KEY, owner VARCHAR(40), name VARCHAR(100) DEFAULT 'none', note TEXT, n INT UNSIGNED, kind ENUM('a','b'), x VARBINARY(5));
INSERT INTO lists (id, owner) VALUES ('l1', 'o1');
INSERT INTO lists VALUES ('l2', 'o2', 'two', 'a note', 7, 'b', X'00ff'), ('l3', NULL, NULL, NULL, 4294967295, 'a', '');
UPDATE lists SET name = 'changed' WHERE id = 'l1';
UPDATE lists SET note = 'other', n = n + 1 WHERE id = 'l2';
UPDATE lists SET id = 'l4' WHERE id = 'l3';
DELETE FROM lists WHERE id = 'l2';
