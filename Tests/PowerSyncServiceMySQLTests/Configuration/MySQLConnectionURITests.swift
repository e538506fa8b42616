import Testing

@testable import PowerSyncServiceMySQL

/// Reading `mysql://user:password@host:port/database` (docs/mysql.md "Configuration").
@Suite struct MySQLConnectionURITests {
    @Test func allPartsAreRead() {
        let uri = MySQLConnectionURI(
            "mysql://power%40sync:a%3Ab%2F%40c:d@db.example.com:3307/my%20app?connectTimeout=500&a=%26"
        )
        #expect(uri.problem == nil)
        #expect(
            uri.parts
                == .init(
                    host: "db.example.com",
                    port: "3307",
                    username: "power@sync",
                    password: "a:b/@c:d",
                    database: "my app"
                )
        )
        #expect(uri.parameters.map(\.name) == ["connectTimeout", "a"])
        #expect(uri.parameters.map(\.value) == ["500", "&"])
    }

    @Test(arguments: [
        ("mariadb://u@h/d", MySQLConnectionURI.Parts(host: "h", username: "u", database: "d")),
        ("MYSQL://h", .init(host: "h")),
        ("mysql://u:@[::1]:3306/", .init(host: "::1", port: "3306", username: "u", password: "")),
        ("mysql://u@[fe80::1]", .init(host: "fe80::1", username: "u")),
        ("mysql:///d", .init(database: "d")),
        ("mysql://u@h?a=b#c", .init(host: "h", username: "u")),
    ])
    func partsMayBeMissing(_ text: String, _ parts: MySQLConnectionURI.Parts) {
        #expect(MySQLConnectionURI(text).parts == parts)
        #expect(MySQLConnectionURI(text).problem == nil)
    }

    @Test(arguments: [
        ("mysql://u:hun@ter2@h/d", MySQLConnectionURI.Problem.ambiguous), ("mysql://u:hun/ter2@h/d", .ambiguous),
        ("mysql://u:hun?ter2@h/d", .ambiguous), ("mysql://u:hun#ter2@h/d", .ambiguous),
        ("postgresql://u:hunter2@h/d", .scheme("postgresql")), ("mysql:/u:hunter2@h/d", .unreadable),
        ("mysql://u:hunter2%zz@h/d", .escape), ("mysql://u:hunter2%00@h/d", .escape), ("hunter2", .unreadable),
        ("u:hunter2://h", .unreadable), ("mysql://[::1/d", .unreadable), ("mysql://[::1]x/d", .unreadable),
        ("mysql://u:hunter2:h:3306/d", .unreadable), ("mysql://u:p@h/d?a=%f", .escape),
    ])
    func aURIThatIsNoneTellsNothingOfThePassword(_ text: String, _ problem: MySQLConnectionURI.Problem) {
        let uri = MySQLConnectionURI(text)
        #expect(uri.problem == problem)
        #expect(uri.parts == .init())
        #expect(!problem.text.contains("hunter2") && !problem.text.contains("ter2"))
        #expect(!"\(uri) \(String(reflecting: uri))".contains("hunter2"))
        var dumped = ""
        dump(uri, to: &dumped)
        #expect(!dumped.contains("hunter2"))
    }
}
