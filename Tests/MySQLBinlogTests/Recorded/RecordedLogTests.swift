import MySQLBinlog
import NIOCore
import Testing

/// Logs of three servers, decoded and compared with what the server said at their end.
@Suite struct RecordedLogTests {
    @Test func logsOfThreeServersAreThere() {
        #expect(Set(RecordedLog.all.map(\.server)) == ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"])
    }

    @Test(arguments: RecordedLog.all)
    func rowsAreThoseThatSelectGave(_ log: RecordedLog) throws {
        let replay = try Replay(log)
        for (name, table) in try log.tables() {
            let rows = replay.rows[name, default: [:]]
            // What a statement changed is not in rows: TRUNCATE, ALTER, a cascade, and a session with `binlog_format` STATEMENT.
            if log.name == "groups", name != "parents" { continue }
            #expect(rows.count == table.rows.count, "\(name)")
            let byKey = Dictionary(rows.map { ($0.key.printed, $0.value) }) { first, _ in first }
            var differences: [String] = []
            for expected in table.rows {
                let cells = try #require(byKey[expected[0]], "\(name) \(expected[0] ?? "")")
                for (index, text) in expected.enumerated() where !Self.isSame(cells[index], text) {
                    // MariaDB from 11.4 on has no generated columns in updates: those that are known are of the insert.
                    if name == "computed", log.server == "mariadb-11.8", index == 2 || index == 3 { continue }
                    let place = "\(name).\(table.columns[index].name) of \(expected[0] ?? "")"
                    differences.append("\(place): \(cells[index]?.printed ?? "NULL"), not \(text ?? "NULL")")
                }
            }
            #expect(differences == [])
        }
    }

    /// Whether a cell is what `SELECT` printed; one that the log does not have is.
    private static func isSame(_ cell: MySQLCell?, _ expected: String?) -> Bool {
        switch cell {
        case nil, .deferred: true
        case .null: expected == nil
        case .float, .double: cell?.printed.flatMap(Double.init) == expected.flatMap(Double.init)
        // ZEROFILL is how a client shows it.
        case .integer(let number): expected.flatMap(Int64.init) == number
        case .json(let text) where text.utf8.count > 70000:
            text.replacing(String(repeating: "x", count: 70000), with: "70000 x")
                .replacing(String(repeating: "y", count: 70000), with: "70000 y") == expected
        default: cell?.printed == expected
        }
    }

    @Test(arguments: RecordedLog.all)
    func onlyCellsInFormsThatAreNotReadAreDeferred(_ log: RecordedLog) throws {
        let replay = try Replay(log)
        var deferred: Set<String> = []
        for (name, table) in try log.tables() {
            for row in replay.rows[name, default: [:]].values {
                for (index, cell) in row.enumerated() where cell?.isDeferred == true {
                    deferred.insert("\(name).\(table.columns[index].name)")
                }
            }
        }
        let expected: Set<String> =
            switch log.name {
            case "types", "types-full":
                Set(["charsets.h", "charsets.i", "charsets.j"]).union(
                    log.server.hasPrefix("mariadb") ? ["compressed.a", "compressed.b"] : []
                )
            case "old-times": ["t.d", "t.e", "t.f", "t.g", "t.h", "t.i", "t.j", "t.k", "t.l", "t.m"]
            case "partial": ["d.j"]
            default: []
            }
        #expect(deferred == expected)
    }

    /// What the server lists is what was decoded, but for what is inside of a compressed transaction.
    @Test(arguments: RecordedLog.all)
    func placesAreThoseThatTheServerLists(_ log: RecordedLog) throws {
        let replay = try Replay(log)
        let places = replay.events.filter { !$0.isInPayload }.map(\.place)
        var listed = try log.listed()
        let payloads = listed.indices.filter { listed[$0].name == "Transaction_payload" }
        for index in payloads.reversed() {
            // The server lists the events inside, too, all of them at the end of the payload.
            let inside = listed[(index + 1)...].prefix {
                $0.start == listed[index].start || $0.end == listed[index].end
            }
            listed.removeSubrange(index..<index + 1 + inside.count)
        }
        #expect(places.map(\.start) == listed.map(\.start))
        // MariaDB from 11.4 on does not list the end of events inside of a group.
        #expect(zip(places, listed).allSatisfy { $0.end == $1.end || $1.end == 0 })
    }
}
