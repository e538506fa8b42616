import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import Testing

@testable import PowerSyncCore

/// Which member of a row goes to which parameter.
@Suite struct RawTableBindingTests {
    private static let names = ["a", "b", "id", "x"]

    /// All subsets of some names.
    private static func subsets(of names: [String]) -> [[String]] {
        (0..<1 << names.count).map { mask in
            names.indices.filter { mask & 1 << $0 != 0 }.map { names[$0] }
        }
    }

    /// Each member is in its column, or else in the rest, whichever of them there are.
    @Test(arguments: subsets(of: names))
    func membersAreInTheirColumnsOrInTheRest(columns: [String]) throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        let list = (["key"] + columns.map { "c_\($0)" } + ["rest"]).joined(separator: ", ")
        try database.run("CREATE TABLE t (\(list))")
        let marks = Array(repeating: "?", count: columns.count + 2).joined(separator: ", ")
        let parameters: [ClientRawTable.Parameter] = [.id] + columns.map { .column($0) } + [.rest]
        try database.queue.write { db in
            let statement = try PreparedStatement(db, sql: "INSERT INTO t VALUES (\(marks))")
            var binding = RawTableBinding(parameters)
            for members in Self.subsets(of: Self.names) {
                let data = "{" + members.reversed().map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}"
                let key = members.joined()
                try Array(key.utf8).withUnsafeBytes { key in
                    try Array(data.utf8).withUnsafeBytes { data in
                        try binding.bind(id: key, data: data, to: statement)
                        try statement.run()
                    }
                }
            }
        }
        let expected = Self.subsets(of: Self.names).map { members in
            let rest = members.filter { $0 != "id" && !columns.contains($0) }
            let values = columns.map { members.contains($0) ? $0 : "" }
            let object = rest.isEmpty ? "" : "{" + rest.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}"
            return ([members.joined()] + values + [object]).joined(separator: "|")
        }
        #expect(try database.rows("SELECT * FROM t ORDER BY rowid") == expected)
    }

    /// A value in place, one that is copied, and the rest.
    @Test(arguments: [#"{"a":"LONG"}"#, #"{"a":"\nLONG"}"#, #"{"b":"LONG"}"#])
    func aValueThatIsTooLongIsAnErrorAndNotNULL(row: String) throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.run("CREATE TABLE t (id, a, rest)")
        database.limitLength(to: 10_000)
        let data = Array(row.replacing("LONG", with: String(repeating: "x", count: 20_000)).utf8)
        let error = #expect(throws: DatabaseError.self) {
            try database.queue.write { db in
                let statement = try PreparedStatement(db, sql: "INSERT INTO t VALUES (?, ?, ?)")
                var binding = RawTableBinding([.id, .column("a"), .rest])
                try Array("1".utf8).withUnsafeBytes { id in
                    try data.withUnsafeBytes { try binding.bind(id: id, data: $0, to: statement) }
                }
            }
        }
        #expect(error?.resultCode == .SQLITE_TOOBIG)
    }
}
