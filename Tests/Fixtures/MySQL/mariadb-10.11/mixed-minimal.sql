SET GLOBAL binlog_row_metadata='MINIMAL';
CREATE TABLE mixed (id INT PRIMARY KEY, a VARCHAR(10) CHARACTER SET latin1, g POINT, b VARCHAR(10) CHARACTER SET utf8mb4, v INT, c VARCHAR(10) CHARACTER SET latin1, j UUID, k INET6, l INET4, d VARCHAR(10) CHARACTER SET ucs2, m ENUM('x') CHARACTER SET latin1, e BLOB, n SET('y') CHARACTER SET ucs2, f VARCHAR(10) CHARACTER SET utf16, w LINESTRING, h CHAR(5) CHARACTER SET utf32);
INSERT INTO mixed (id, a, b, c, d, e, f, h, m, n) VALUES (1, 'ä', 'ä€', 'ä', 'ä', 'e', '€', 'ä', 'x', 'y');
