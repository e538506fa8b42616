import Testing

@testable import PowerSyncClient

@Suite struct CommonTableContextTests {
    @Test(
        arguments: [
            ("SELECT * FROM T", "WITH T AS (x) SELECT * FROM T"),
            ("  \n-- all WITH\n/* WITH */ SELECT 1", "WITH T AS (x) SELECT 1"),
            ("INSERT INTO a SELECT * FROM T", "WITH T AS (x) INSERT INTO a SELECT * FROM T"),
            ("WITH a AS (SELECT 1) SELECT 2", "WITH T AS (x),  a AS (SELECT 1) SELECT 2"),
            ("with recursive a AS (SELECT 1) SELECT 2", "WITH RECURSIVE T AS (x),  a AS (SELECT 1) SELECT 2"),
            ("WITH/**/a AS (SELECT 1) SELECT 2", "WITH T AS (x), /**/a AS (SELECT 1) SELECT 2"),
            ("WITH recursively AS (SELECT 1) SELECT 2", "WITH T AS (x),  recursively AS (SELECT 1) SELECT 2"),
            ("WITHOUT", "WITH T AS (x) WITHOUT"),
            ("", "WITH T AS (x) "),
        ]
    )
    func commonTableExpressionComesBeforeThoseOfTheStatement(_ sql: String, _ expected: String) {
        #expect(CommonTableContext.adding("T AS (x)", to: sql) == expected)
    }
}
