import PowerSyncServiceMySQL
import Testing

/// Names and texts of others in statements.
@Suite struct MySQLTextTests {
    @Test(arguments: [
        ("lists", "`lists`"),
        ("a`b", "`a``b`"),
        ("`", "````"),
        // One character of Swift, and a backtick for the server.
        ("a`\u{301}; SELECT 1", "`a``\u{301}; SELECT 1`"),
        ("`\u{200d}x", "```\u{200d}x`"),
        ("", "``"),
    ])
    func backticksOfANameAreDoubled(_ name: String, _ quoted: String) {
        #expect(Array(MySQLText.identifier(name).utf8) == Array(quoted.utf8))
    }

    @Test(arguments: [
        ("it's", "'it''s'"),
        (#"a\'"#, #"'a\\'''"#),
        ("'\u{301}", "'''\u{301}'"),
        ("\\\u{301}", "'\\\\\u{301}'"),
        ("\0", #"'\0'"#),
    ])
    func quotesAndBackslashesOfATextAreDoubled(_ text: String, _ literal: String) {
        #expect(Array(MySQLText.literal(text).utf8) == Array(literal.utf8))
    }
}
