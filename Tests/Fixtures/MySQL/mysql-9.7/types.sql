SET sql_mode='', time_zone='+00:00';
CREATE TABLE integers (id INT PRIMARY KEY, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d SMALLINT UNSIGNED, e MEDIUMINT, f MEDIUMINT UNSIGNED, g INT, h INT UNSIGNED, i BIGINT, j BIGINT UNSIGNED, k YEAR, l BOOL, m INT(5) ZEROFILL);
INSERT INTO integers VALUES (1,-128,0,-32768,0,-8388608,0,-2147483648,0,-9223372036854775808,0,0,0,0),
 (2,127,255,32767,65535,8388607,16777215,2147483647,4294967295,9223372036854775807,18446744073709551615,2155,1,42),
 (3,0,1,0,1,0,1,0,1,0,1,1901,NULL,NULL), (4,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL), (5,-1,128,-1,32768,-1,8388608,-1,2147483648,-1,9223372036854775808,2024,-1,99999);
CREATE TABLE floats (id INT PRIMARY KEY, f FLOAT, d DOUBLE);
INSERT INTO floats VALUES (1,3.14,0.1),(2,16777217,5e-324),(3,1e38,1.7976931348623157e308),(4,-0e0,-0e0),(5,123456.7,123456789012345680),(6,1e-45,-2.5),(7,NULL,NULL);
CREATE TABLE decimals (id INT PRIMARY KEY, a DECIMAL(65,30), b DECIMAL(10,0), c DECIMAL(4,4), d DECIMAL(18,9), e DECIMAL(5,2) UNSIGNED, f DECIMAL(9,0), g DECIMAL(1,1), h DECIMAL(20,7));
INSERT INTO decimals VALUES (1,0,0,0,0,0,0,0,0),(2,-0.0001,-1,-0.0001,-0.000000001,1.5,-1,-0.1,-1.5),
 (3,99999999999999999999999999999999999.999999999999999999999999999999,9999999999,0.9999,999999999.999999999,999.99,999999999,0.9,9999999999999.9999999),
 (4,-99999999999999999999999999999999999.999999999999999999999999999999,-9999999999,-0.9999,-999999999.999999999,0,-999999999,-0.9,-9999999999999.9999999),
 (5,1.50,12,0.5,9007199254.740993,1.50,7,0.5,1000000),(6,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(7,1000000000.000000001,1000000000,0.0100,100,10,100000000,0,-0.0000001);
CREATE TABLE times (id INT PRIMARY KEY, a DATETIME, b DATETIME(1), c DATETIME(2), d DATETIME(3), e DATETIME(4), f DATETIME(5), g DATETIME(6), h TIMESTAMP NULL, i TIMESTAMP(1) NULL, j TIMESTAMP(2) NULL, k TIMESTAMP(3) NULL, l TIMESTAMP(4) NULL, m TIMESTAMP(5) NULL, n TIMESTAMP(6) NULL, o TIME, p TIME(1), q TIME(2), r TIME(3), s TIME(4), t TIME(5), u TIME(6), v DATE);
BEGIN;
SET @d='2023-03-06 15:47:12.123456', @t='-00:00:00.01';
INSERT INTO times VALUES (1,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@t,@t,@t,@t,@t,@t,@t,@d);
SET @d='1970-01-01 00:00:01', @t='838:59:59';
INSERT INTO times VALUES (2,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@t,@t,@t,@t,@t,@t,@t,@d);
SET @d='2037-12-31 23:59:59.9', @t='-838:59:58.99';
INSERT INTO times VALUES (3,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@t,@t,@t,@t,@t,@t,@t,@d);
SET @d='0000-00-00 00:00:00', @t='00:00:00';
INSERT INTO times VALUES (4,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@t,@t,@t,@t,@t,@t,@t,@d);
SET @d='9999-12-31 23:59:59.999', @t='-01:00:00', @s=NULL;
INSERT INTO times VALUES (5,@d,@d,@d,@d,@d,@d,@d,@s,@s,@s,@s,@s,@s,@s,@t,@t,@t,@t,@t,@t,@t,@d);
SET @d='2024-00-00', @t='100:20:30.5';
INSERT INTO times VALUES (6,@d,@d,@d,@d,@d,@d,@d,@s,@s,@s,@s,@s,@s,@s,@t,@t,@t,@t,@t,@t,@t,@d);
SET sql_mode='ALLOW_INVALID_DATES';
SET @d='2024-02-31 10:00:00', @t='-00:00:01.999999';
INSERT INTO times VALUES (7,@d,@d,@d,@d,@d,@d,@d,@s,@s,@s,@s,@s,@s,@s,@t,@t,@t,@t,@t,@t,@t,@d);
SET sql_mode='';
SET @d='2000-02-29 12:30:45.000001', @t='-12:34:56.000001';
INSERT INTO times VALUES (8,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@d,@t,@t,@t,@t,@t,@t,@t,@d);
COMMIT;
CREATE TABLE texts (id INT PRIMARY KEY, a CHAR(10), b CHAR(100), c VARCHAR(10), d VARCHAR(300), e TINYTEXT, f TEXT, g MEDIUMTEXT, h LONGTEXT, i CHAR(0), j CHAR(255));
INSERT INTO texts VALUES (1,'a  ','','','','','','','','',''),(2,'äöü€😀','x','äöü€😀',REPEAT('é',150),'ä','😀','äöü','a\tb\nc\\d\0e','','zz'),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(4,'  a ',REPEAT('😀',70),'b  ','x',REPEAT('t',255),REPEAT('u',257),'m','l',NULL,REPEAT('ü',150));
CREATE TABLE bytes (id INT PRIMARY KEY, a BINARY(4), b VARBINARY(4), c VARBINARY(300), d TINYBLOB, e BLOB, f MEDIUMBLOB, g LONGBLOB, h BIT(1), i BIT(17), j BIT(64), k POINT, l GEOMETRY, m BINARY(255), n CHAR(10) CHARACTER SET binary, o BIT(8));
INSERT INTO bytes VALUES (1,'a\0','a\0','',X'00',X'',X'ff',X'00ff00',b'1',b'10000000000000001',X'ffffffffffffffff',ST_GeomFromText('POINT(1 2)'),ST_GeomFromText('LINESTRING(0 0,1 1)'),'m','n',b'11111111'),(2,'','',REPEAT('c',300),'','','','',b'0',b'0',b'0',ST_GeomFromText('POINT(-1.5 2.25)',4326),NULL,'','',b'1'),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE charsets (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b VARCHAR(20) CHARACTER SET utf8mb3, c VARCHAR(20) CHARACTER SET ucs2, d VARCHAR(20) CHARACTER SET utf16, e VARCHAR(20) CHARACTER SET utf16le, f VARCHAR(20) CHARACTER SET utf32, g VARCHAR(20) CHARACTER SET ascii, h VARCHAR(20) CHARACTER SET gbk, i VARCHAR(20) CHARACTER SET cp1251, j VARCHAR(20) CHARACTER SET sjis, k CHAR(10) CHARACTER SET utf16, l TEXT CHARACTER SET latin1, m CHAR(10) CHARACTER SET latin1, n CHAR(10) CHARACTER SET ucs2, o TEXT CHARACTER SET utf16);
INSERT INTO charsets VALUES (1,'€äÿ','ä€','ä€','ä€😀','ä€😀','ä€😀','abc','中文','Привет','日本','ä😀','€','é  ','é  ','€😀'),(2,X'818d8f909d8099','','','','','','','','','','',X'80','','',''),(3,'plain','plain','plain','plain','plain','plain','plain','plain','plain','plain','plain','plain','plain','plain','plain');
CREATE TABLE labels (id INT PRIMARY KEY, a ENUM('x','it''s','a,b','',' c'), b SET('a','b','c d'), c ENUM('l0','l1','l2','l3','l4','l5','l6','l7','l8','l9','l10','l11','l12','l13','l14','l15','l16','l17','l18','l19','l20','l21','l22','l23','l24','l25','l26','l27','l28','l29','l30','l31','l32','l33','l34','l35','l36','l37','l38','l39','l40','l41','l42','l43','l44','l45','l46','l47','l48','l49','l50','l51','l52','l53','l54','l55','l56','l57','l58','l59','l60','l61','l62','l63','l64','l65','l66','l67','l68','l69','l70','l71','l72','l73','l74','l75','l76','l77','l78','l79','l80','l81','l82','l83','l84','l85','l86','l87','l88','l89','l90','l91','l92','l93','l94','l95','l96','l97','l98','l99','l100','l101','l102','l103','l104','l105','l106','l107','l108','l109','l110','l111','l112','l113','l114','l115','l116','l117','l118','l119','l120','l121','l122','l123','l124','l125','l126','l127','l128','l129','l130','l131','l132','l133','l134','l135','l136','l137','l138','l139','l140','l141','l142','l143','l144','l145','l146','l147','l148','l149','l150','l151','l152','l153','l154','l155','l156','l157','l158','l159','l160','l161','l162','l163','l164','l165','l166','l167','l168','l169','l170','l171','l172','l173','l174','l175','l176','l177','l178','l179','l180','l181','l182','l183','l184','l185','l186','l187','l188','l189','l190','l191','l192','l193','l194','l195','l196','l197','l198','l199','l200','l201','l202','l203','l204','l205','l206','l207','l208','l209','l210','l211','l212','l213','l214','l215','l216','l217','l218','l219','l220','l221','l222','l223','l224','l225','l226','l227','l228','l229','l230','l231','l232','l233','l234','l235','l236','l237','l238','l239','l240','l241','l242','l243','l244','l245','l246','l247','l248','l249','l250','l251','l252','l253','l254','l255','l256','l257','l258','l259','l260','l261','l262','l263','l264','l265','l266','l267','l268','l269','l270','l271','l272','l273','l274','l275','l276','l277','l278','l279','l280','l281','l282','l283','l284','l285','l286','l287','l288','l289','l290','l291','l292','l293','l294','l295','l296','l297','l298','l299'), d SET('s0','s1','s2','s3','s4','s5','s6','s7','s8','s9','s10','s11','s12','s13','s14','s15','s16','s17','s18','s19','s20','s21','s22','s23','s24','s25','s26','s27','s28','s29','s30','s31','s32','s33','s34','s35','s36','s37','s38','s39','s40','s41','s42','s43','s44','s45','s46','s47','s48','s49','s50','s51','s52','s53','s54','s55','s56','s57','s58','s59','s60','s61','s62','s63'), e ENUM('ä','€') CHARACTER SET latin1, f SET('ä','ö') CHARACTER SET utf16, g ENUM('Привет') CHARACTER SET cp1251);
INSERT INTO labels VALUES (1,'it''s','a,c d','l299','s63,s0','€','ö,ä','Привет'),(2,'nothing','','l0','','nothing','',NULL),(3,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(4,'a,b','b','l255','s31,s32','ä','ä','x'),(5,'','a','l256','s7,s8','ä','ö','Привет'),(6,' c','a,b,c d','l254','s1','','','');
CREATE TABLE computed (id INT PRIMARY KEY, a INT, s INT AS (a + 1) STORED, v INT AS (a + 2) VIRTUAL, b VARCHAR(10));
INSERT INTO computed (id, a, b) VALUES (1, 10, 'x'), (2, NULL, 'y'), (3, 30, 'z');
UPDATE computed SET a = 11 WHERE id = 1;
DELETE FROM computed WHERE id = 3;
CREATE TABLE vectors (id INT PRIMARY KEY, v VECTOR(3), k INT);
INSERT INTO vectors VALUES (1, STRING_TO_VECTOR('[1,2,3]'), 4), (2, NULL, 5);
CREATE TABLE functional (id INT PRIMARY KEY, a INT, j JSON, b INT, INDEX f ((a + 1)), INDEX m ((CAST(j->'$' AS UNSIGNED ARRAY))));
INSERT INTO functional VALUES (1, 2, '[1, 2]', 3), (2, NULL, NULL, 4);
UPDATE functional SET a = 5 WHERE id = 1;
UPDATE integers SET a = 5, b = NULL WHERE id = 2;
UPDATE texts SET c = 'changed' WHERE id IN (1, 3);
DELETE FROM floats WHERE id = 5;
UPDATE decimals SET id = 100 WHERE id = 7;
