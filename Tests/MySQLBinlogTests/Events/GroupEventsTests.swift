import MySQLBinlog
import Testing

/// What the servers write for the same statements.
@Suite struct GroupEventsTests {
    /// The groups of a log, without what is skipped, each as its lines.
    private static func groups(_ log: RecordedLog) throws -> [String] {
        var groups: [[String]] = []
        for event in try Replay(log).events {
            let summary = event.summary.replacing("\n", with: " ").replacing(" with cascades", with: "")
            switch event.body {
            case .gtid, .mariaDBGTID: groups.append([String(summary.dropFirst("gtid".count).drop { $0 == " " })])
            case .skipped: continue
            default:
                if !groups.isEmpty {
                    groups[groups.count - 1].append(summary.replacing("app: ", with: "").replacing("app.", with: ""))
                }
            }
        }
        return groups.dropFirst(2).map { $0.filter { !$0.isEmpty }.joined(separator: " | ") }
    }

    @Test(arguments: ["mariadb-10.11", "mariadb-11.8"])
    func groupsOfMariaDB(_ server: String) throws {
        let groups = try Self.groups(RecordedLog(server: server, name: "groups"))
        #expect(
            groups.prefix(12) == [
                "map lists 2 | insert lists | xid",
                "map lists 2 | insert lists | SAVEPOINT `s` | map lists 2 | insert lists | xid",
                "map plain 2 | insert plain | COMMIT",
                "prepare | map lists 2 | insert lists | XA END X'61',X'',1 | prepare X'61',X'',1",
                "standalone end | XA COMMIT X'61',X'',1",
                "prepare | map lists 2 | insert lists | XA END X'62',X'63',7 | prepare X'62',X'63',7",
                "standalone end | XA ROLLBACK X'62',X'63',7",
                "map lists 2 | insert lists | xid",
                "CREATE TABLE `made` (   `id` int(11) NOT NULL,   PRIMARY KEY (`id`) ) | map made 1 | insert made | xid",
                "standalone | TRUNCATE TABLE plain",
                "standalone | /* a comment */ ALTER TABLE lists ADD COLUMN n INT DEFAULT 5",
                "map lists 3 | update lists | xid",
            ]
        )
        // A child is announced, and its rows that a cascade removes are not there.
        #expect(groups[19] == "map parents 1 | map children 2 | delete parents | xid")
    }

    @Test func groupsOfMySQL() throws {
        let groups = try Self.groups(RecordedLog(server: "mysql-9.7", name: "groups"))
        #expect(
            groups.prefix(12) == [
                "BEGIN | map lists 2 | insert lists | xid",
                "BEGIN | map lists 2 | insert lists | SAVEPOINT `s` | map lists 2 | insert lists | xid",
                "BEGIN | map plain 2 | insert plain | COMMIT",
                "XA START X'61',X'',1 | map lists 2 | insert lists | XA END X'61',X'',1 | prepare X'61',X'',1",
                "XA COMMIT X'61',X'',1",
                "XA START X'62',X'63',7 | map lists 2 | insert lists | XA END X'62',X'63',7 | prepare X'62',X'63',7",
                "XA ROLLBACK X'62',X'63',7",
                "XA START X'64',X'',1 | map lists 2 | insert lists | XA END X'64',X'',1 | prepare X'64',X'',1 in one phase",
                "BEGIN | CREATE TABLE `made` (   `id` int NOT NULL,   PRIMARY KEY (`id`) ) START TRANSACTION | map made 1 | insert made"
                    + " | xid",
                "TRUNCATE TABLE plain",
                "/* a comment */ ALTER TABLE lists ADD COLUMN n INT DEFAULT 5",
                "BEGIN | map lists 3 | update lists | xid",
            ]
        )
        #expect(groups[19] == "BEGIN | map parents 1 | map children 2 | delete children | delete parents | xid")
    }

    @Test func rowsOfMySQLSayThatTheyHaveCascades() throws {
        for event in try Replay(RecordedLog(server: "mysql-9.7", name: "groups")).events {
            if case .rows(let rows) = event.body { #expect(rows.hasCascades) }
        }
    }

    @Test func groupsHaveAnIdAndATime() throws {
        let gtids = try Replay(RecordedLog(server: "mysql-9.7", name: "groups")).events.compactMap { event in
            if case .gtid(let gtid) = event.body { gtid } else { nil }
        }
        let numbers = gtids.compactMap { $0.gtid?.split(separator: ":").last.flatMap { Int($0) } }
        #expect(numbers.count == gtids.count)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
        // 2026-11-29, in microseconds.
        #expect(gtids.allSatisfy { ($0.committedAt ?? 0) / 86_400_000_000 == 20786 })
    }

    @Test func compressedTransactionsAreUnpackedAtTheirPlace() throws {
        let replay = try Replay(RecordedLog(server: "mysql-9.7", name: "compressed"))
        let payload = replay.events.filter(\.isInPayload)
        #expect(payload.count > 20)
        #expect(payload.first?.place == BinlogPlace(file: "binlog.000001", start: 509, end: 1505))
    }

    /// It has a payload of more than two mebibytes, which is restored in parts.
    @Test func largeTransactionsAreUnpackedInParts() throws {
        let replay = try Replay(RecordedLog(server: "mysql-9.7", name: "json-large"))
        #expect(replay.rows["documents"]?.count == 42)
        #expect(replay.events.filter { $0.isInPayload && $0.type == .writeRows }.count == 42)
    }

    @Test func rowsAndStatementsOfMariaDBAreUnpacked() throws {
        let types = Set(try Replay(RecordedLog(server: "mariadb-10.11", name: "compressed")).events.map(\.type))
        #expect(
            types.isSuperset(of: [.queryCompressed, .writeRowsCompressedV1, .updateRowsCompressedV1, .writeRowsV1])
        )
    }
}
