import Foundation
import MySQLTestSupport
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Large rows, files that go, disks that are full, clocks that jump (docs/mysql.md "When things go wrong"): nothing is lost, and the log
/// says what happened.
@Suite(.timeLimit(.minutes(5))) struct MySQLServerFaultTests {
    private static let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
    private static let isMariaDB: ConditionTrait = .enabled(if: !TestMySQL.isMySQL, "MySQL has no such setting")

    // MARK: Large rows and transactions

    // In `make soak`, a row has 100 MB; more than a packet of the wire, and more than clients get of a row, it has always.
    @Test func aRowThatIsTooLargeForClientsIsLeftOutAndTheOthersGoOn() async throws {
        let bytes = (Self.isSlow ? 100 : 18) << 20
        let server = try await TestMySQLServer("--max-allowed-packet=256M")
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner TEXT, name LONGTEXT)",
                "INSERT INTO lists VALUES ('a', 'u', 'x'), ('large', 'u', REPEAT('x', \(bytes))), ('z', 'u', 'x')",
            ],
            on: server
        )
        // What the server takes from its clients says nothing about the rows that it has.
        try await scenario.database.run("SET GLOBAL max_allowed_packet = 1048576")
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "z"])
            try await scenario.database.run("UPDATE lists SET owner = 'v'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "z"])
            #expect(try await scenario.rows()["lists/z"]?.contains(#""v""#) == true)
            try await scenario.database.run("UPDATE lists SET name = 'small' WHERE id = 'large'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "large", "z"])
        }
        #expect(scenario.log.lines.contains { $0.contains("lists") && $0.contains("large") })
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    /// A transaction in a few parts, small ones, and values of both kinds.
    @Test func compressedTransactionsAreFollowed() async throws {
        let rows = Self.isSlow ? 100_000 : 20_000
        let server = try await TestMySQL.isMySQL ? TestMySQLServer() : TestMySQLServer("--log-bin-compress=ON")
        let scenario = try await MySQLScenario(
            [
                """
                CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner TEXT,
                    name VARCHAR(3000) \(TestMySQL.isMySQL ? "" : "COMPRESSED"))
                """,
                "CREATE TABLE digits (d INT PRIMARY KEY)",
                "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
            ],
            on: server
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let before = try ProcessMemory.isKnown ? ProcessMemory().own : 0
            let session = try await scenario.database.open()
            defer { session.close() }
            if TestMySQL.isMySQL { try await session.execute("SET SESSION binlog_transaction_compression = ON") }
            try await session.execute(
                """
                INSERT INTO lists SELECT n, 'u', IF(n % 2, REPEAT(CHAR(97 + n % 26), 200), 'small')
                FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n
                    FROM digits a, digits b, digits c, digits d, digits e) AS numbers WHERE n < \(rows)
                """
            )
            try await scenario.caughtUp()
            if ProcessMemory.isKnown { #expect(try ProcessMemory().own - before < 200 << 20) }
            for sql in [
                "UPDATE lists SET name = 'x' WHERE id = '1'", "UPDATE lists SET owner = 'v' WHERE id < '2'",
                "DELETE FROM lists WHERE id = '3'", "INSERT INTO lists VALUES ('new', 'u', REPEAT('y', 3000))",
            ] {
                try await session.execute(sql)
            }
            try await scenario.caughtUp()
            #expect(try await scenario.ids().count == rows)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    // MARK: A server that goes

    @Test func aCopyGoesOnWhenItsServerIsThereAgain() async throws {
        let server = try await TestMySQLServer("--innodb-flush-log-at-trx-commit=2")
        var scenario = try await MySQLScenario(on: server)
        try await Self.insert(20_000, into: scenario.database)
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("lists", afterRows: 10_000)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            server.crash()
            held.release()
            try await server.start()
            try await scenario.database.run("DELETE FROM lists WHERE id < '10100'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids().count == 19_900)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    /// Its connections end when a part of a transaction has come.
    @Test func aTransactionThatIsCutIsShownWhole() async throws {
        let (left, cutter) = (NIOLockedValueBox(0), NIOLockedValueBox<MySQLProxy?>(nil))
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port) { bytes in
            let isLast = left.withLockedValue { left in
                defer { left -= bytes.readableBytes }
                return left > 0 && left <= bytes.readableBytes
            }
            if isLast { cutter.withLockedValue(\.self)?.cut() }
        }
        cutter.withLockedValue { $0 = proxy }
        let scenario = try await MySQLScenario(proxy: proxy)
        try await scenario.replicating {
            try await scenario.caughtUp()
            let seen = proxy.accepted
            left.withLockedValue { $0 = 1 << 20 }
            // Three megabytes.
            try await Self.insert(10_000, into: scenario.database)
            await proxy.accepted(seen + 1)
            let count = try await scenario.ids().count
            #expect(count == 0 || count == 10_000)
            try await scenario.caughtUp()
            #expect(try await scenario.ids().count == 10_000)
        }
        #expect(left.withLockedValue(\.self) <= 0)
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        cutter.withLockedValue { $0 = nil }
        try await proxy.stop()
    }

    /// The checksum tells, and the event is read again.
    @Test func anEventThatIsDamagedOnTheWayIsReadAgain() async throws {
        let server = try await TestMySQLServer()
        let (proxy, damages) = try await Self.damagingProxy(to: server)
        let scenario = try await MySQLScenario(on: server, proxy: proxy)
        try await scenario.replicating {
            try await scenario.caughtUp()
            damages.withLockedValue { $0 = true }
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'before')")
            try await scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'damaged on the way')")
            let damage = "the event is damaged: its checksum is another one"
            let failure = try await scenario.log.line(containing: damage)
            #expect(failure.contains(#/binlog\.[0-9]{6} at [0-9]+/#), "\(failure)")
            damages.withLockedValue { $0 = false }
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
            #expect(try await scenario.rows()["lists/b"]?.contains("damaged on the way") == true)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        try await proxy.stop()
    }

    /// What came before it is delivered, and a boundary that is not behind it.
    @Test func whatIsBehindADamagedEventIsNotDelivered() async throws {
        let server = try await TestMySQLServer()
        let (proxy, damages) = try await Self.damagingProxy(to: server)
        let scenario = try await MySQLScenario(on: server, proxy: proxy)
        let (database, source) = (scenario.database, scenario.source)
        var plan = try plan(scenario.config)
        plan.defaultSchema = database.name
        let position = try await source.prepareStream("damaged", resumingAfter: nil, reached: nil)
        damages.withLockedValue { $0 = true }
        for name in ["before", "damaged on the way", "behind", "also behind"] {
            try await database.run("INSERT INTO lists VALUES (UUID(), 'u', '\(name)')")
        }
        var (rows, boundary) = (0, position.lsn)
        await #expect(throws: (any Error).self) {
            try await source.reads("damaged", after: position, plan) { reader in
                while true {
                    for message in try await reader.next() {
                        switch message {
                        case .changes(let changes, _): rows += changes.count
                        case .commit(let lsn): boundary = lsn
                        default: break
                        }
                    }
                }
            }
        }
        #expect(rows == 1 && boundary > position.lsn)
        // What is damaged at the same place three times is not damaged on the way: then the server is asked once a minute.
        for pause: Duration? in [nil, .seconds(60)] {
            let error = await #expect(throws: ReplicationSourceError.self) {
                try await source.reads("damaged", after: SourcePosition(boundary, of: position.history), plan) {
                    reader in
                    while true { _ = try await reader.next() }
                }
            }
            #expect(error?.code == .unavailable && error?.pause == pause, "\(error.map { "\($0)" } ?? "")")
        }
        damages.withLockedValue { $0 = false }
        try await source.reads("damaged", after: SourcePosition(boundary, of: position.history), plan) { reader in
            while rows < 4 {
                for case .changes(let changes, _) in try await reader.next() { rows += changes.count }
            }
        }
        #expect(rows == 4)
        try await source.dropStream("damaged")
        try source.close()
        try await proxy.stop()
    }

    /// A proxy that changes a bit of the text “damaged on the way” of a server, while it is told to.
    private static func damagingProxy(to server: TestMySQLServer) async throws -> (MySQLProxy, NIOLockedValueBox<Bool>)
    {
        let damages = NIOLockedValueBox(false)
        let proxy = try await MySQLProxy(to: server.port) { bytes in
            guard damages.withLockedValue({ $0 }),
                let place = bytes.readableBytesView.firstRange(of: Array("damaged on the way".utf8))?.lowerBound,
                let byte = bytes.getInteger(at: place, as: UInt8.self)
            else { return }
            bytes.setInteger(byte ^ 1, at: place)
        }
        return (proxy, damages)
    }

    /// Inserts rows of 300 bytes in one transaction.
    private static func insert(_ count: Int, into database: TestMySQLDatabase) async throws {
        let values = (0..<count).map { "('\(10_000 + $0)', 'u', '\(String(repeating: "x", count: 280))')" }
        let statements = stride(from: 0, to: count, by: 1000).map { start in
            "INSERT INTO lists VALUES \(values[start..<min(start + 1000, count)].joined(separator: ", "))"
        }
        try await database.run(["BEGIN"] + statements + ["COMMIT"])
    }

    @Test func aLogThatTheServerSaysIsIncompleteIsAnotherHistory() async throws {
        let scenario = try await MySQLScenario()
        let position = try await scenario.source.prepareStream("s", resumingAfter: nil, reached: nil)
        let incident = LogIncident(message: "LOST_EVENTS")
        let error = await scenario.source.explain(incident, of: "s", after: position) as? ReplicationSourceError
        #expect(error?.code == .historyLost)
        #expect(error?.message.contains("LOST_EVENTS") == true)
        try scenario.source.close()
    }

    // MARK: Files of the log

    @Test func aStreamIsWarnedOfBeforeTheServerDeletesWhatItNeeds() async throws {
        let server = try await TestMySQLServer()
        let scenario = try await MySQLScenario(on: server) { $0.heartbeatInterval = .zero }
        var plan = try plan(scenario.config)
        plan.defaultSchema = scenario.database.name
        let position = try await scenario.source.prepareStream("behind", resumingAfter: nil, reached: nil)
        let session = try await scenario.database.open()
        defer { session.close() }
        try await session.execute("SET GLOBAL binlog_expire_logs_seconds = 604800")
        let warning = "behind by more than half of the time"
        for (days, isWarned) in [(1, false), (4, true)] {
            // The next file begins when the one that the stream reads is complete: it seems to be so many days ago.
            try await session.execute("SET SESSION timestamp = UNIX_TIMESTAMP(SYSDATE()) - \(days) * 86400")
            try await session.execute("FLUSH BINARY LOGS")
            let begin = isWarned ? try await scenario.source.head() : position
            if isWarned { try await session.execute("FLUSH BINARY LOGS") }
            try await scenario.source.reads("behind", after: begin, plan) { reader in
                for _ in 0..<2 { _ = try await reader.next() }
            }
            #expect(scenario.log.lines.contains { $0.contains(warning) } == isWarned)
        }
        try scenario.source.close()
    }

    @Test func aFileThatWasPurgedMeanwhileHasEverythingCopiedAgain() async throws {
        let server = try await TestMySQLServer()
        var scenario = try await MySQLScenario(on: server)
        try await scenario.database.run("INSERT INTO lists VALUES ('kept', 'u', 'x'), ('deleted', 'u', 'x')")
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try await scenario.database.run("DELETE FROM lists WHERE id = 'deleted'")
        for _ in 0..<3 { try await scenario.database.run("FLUSH BINARY LOGS") }
        try await server.address.purgeLog()
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold()
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            #expect(try await scenario.ids() == ["kept", "deleted"])
            held.release()
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["kept"])
        }
        let text = scenario.log.lines.first { $0.contains("was deleted by the server") }
        #expect(text?.contains("all tables are copied again. Raise binlog_expire_logs_seconds (now ") == true)
    }

    /// Known positions are looked for once a minute: in `make soak`.
    @Test(.enabled(if: isSlow)) func aLogThatIsResetWhileItIsReadHasEverythingCopiedAgain() async throws {
        let server = try await TestMySQLServer()
        let scenario = try await MySQLScenario(on: server)
        try await scenario.replicating {
            try await scenario.database.run("INSERT INTO lists VALUES ('kept', 'u', 'x'), ('deleted', 'u', 'x')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["kept", "deleted"])
            try await scenario.database.run(TestMySQL.isMySQL ? "RESET BINARY LOGS AND GTIDS" : "RESET MASTER")
            try await scenario.database.run("DELETE FROM lists WHERE id = 'deleted'")
            // Longer than the log was.
            for number in 0..<20 {
                try await scenario.database.run("INSERT INTO lists VALUES ('\(number)', 'u', 'x')")
            }
            try await scenario.untilPublished { try await scenario.ids().count == 21 }
            #expect(try await !scenario.ids().contains("deleted"))
        }
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    /// As after a backup that was restored and written to, until its log was longer than what was read.
    @Test func aPositionInsideOfAnEventIsAnotherHistory() async throws {
        let scenario = try await MySQLScenario()
        var plan = try plan(scenario.config)
        plan.defaultSchema = scenario.database.name
        let position = try await scenario.source.prepareStream("inside", resumingAfter: nil, reached: nil)
        for _ in 0..<20 {
            try await scenario.database.run("INSERT INTO lists VALUES (UUID(), 'u', REPEAT('x', 100))")
        }
        for bytes in [1, 7, 30] as [UInt64] {
            var place = try #require(LogPosition(position.lsn))
            place.offset += bytes
            let inside = SourcePosition(place.lsn, of: position.history)
            let error = await #expect(throws: ReplicationSourceError.self) {
                try await scenario.source.reads("inside", after: inside, plan) { reader in
                    while true { _ = try await reader.next() }
                }
            }
            #expect(error?.code == .historyLost, "\(bytes): \(error.map { "\($0)" } ?? "")")
        }
        try scenario.source.close()
    }

    /// Its file system is full for as long as the server tries again, a minute: in `make soak`.
    @Test(.enabled(if: isSlow && SmallDisk.isPossible))
    func aServerWhoseDiskIsFullGoesOnWhenThereIsRoom() async throws {
        let folder = try TemporaryFolder()
        let server = try await TestMySQLServer()
        server.stop()
        let disk = try SmallDisk(at: folder.url.appending(path: "disk"), size: "2m")
        defer { disk.remove() }
        try server.own(disk.url)
        try await server.start(["--log-bin=\(disk.url.path)/binlog"])
        let scenario = try await MySQLScenario(on: server)
        try await scenario.replicating {
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'x')")
            try await scenario.caughtUp()
            let writer = Task {
                let session = try await scenario.database.open()
                defer { session.close() }
                for sql in [
                    "BEGIN", "INSERT INTO lists VALUES ('half', 'u', REPEAT('x', 65000))",
                    "UPDATE lists SET name = REPEAT('y', 65000) WHERE id = 'half'",
                    "INSERT INTO lists SELECT CONCAT('n', seq.n), 'u', REPEAT('z', 60000) FROM (\(Self.numbers(60))) AS seq",
                    "COMMIT",
                ] {
                    // The server looks for room once a minute.
                    try await session.execute(sql, timeout: .seconds(200))
                }
            }
            try await server.says("Disk is full")
            #expect(try await scenario.ids() == ["a"])
            try disk.grow(to: "64m")
            try await writer.value
            try await scenario.caughtUp()
            #expect(try await scenario.ids().count == 62)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
    }

    private static func numbers(_ count: Int) -> String {
        (1...count).map { "SELECT \($0) AS n" }.joined(separator: " UNION ALL ")
    }

    // MARK: Clocks

    /// The log has the times that its writers have: an hour back, and an hour ahead.
    @Test func clocksThatJumpChangeNothing() async throws {
        let scenario = try await MySQLScenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            var last = try await scenario.head().lsn
            for (index, shift) in [-3600, 0, 3600, -86_400, 0].enumerated() {
                try await scenario.database.run([
                    "SET SESSION timestamp = UNIX_TIMESTAMP() + \(shift)",
                    "INSERT INTO lists VALUES ('\(index)', 'u', 'x')", "SET SESSION timestamp = DEFAULT",
                ])
                try await scenario.caughtUp()
                let head = try await scenario.head().lsn
                #expect(head > last)
                last = head
                #expect(try await scenario.ids().count == index + 1)
            }
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    // MARK: What a server forgets and waits for

    /// The zone of the server, and the zone and the mode of a session that writes: a `TIMESTAMP` is a moment, and a `DATETIME` what was
    /// written, in a copy and in the log.
    @Test func timesAreTheSameWhateverTheZonesAre() async throws {
        let server = try await TestMySQLServer("--default-time-zone=+05:30")
        let scenario = try await MySQLScenario(
            ["CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, moment TIMESTAMP NULL, wall DATETIME)"],
            on: server
        )
        let database = scenario.database
        @Sendable func insert(_ id: String, zone: String) async throws {
            let session = try await database.open()
            defer { session.close() }
            try await session.execute("SET SESSION time_zone = \(zone), sql_mode = 'ANSI_QUOTES'")
            try await session.execute(
                #"INSERT INTO "lists" VALUES ('\#(id)', '2024-07-01 12:00:00', '2024-07-01 12:00:00')"#
            )
        }
        let zones = [("'-08:00'", "20:00:00"), ("@@global.time_zone", "06:30:00")]
        for (place, (zone, _)) in zones.enumerated() { try await insert("copied \(place)", zone: zone) }
        try await scenario.replicating {
            try await scenario.caughtUp()
            for (place, (zone, _)) in zones.enumerated() { try await insert("logged \(place)", zone: zone) }
            try await scenario.caughtUp()
            let rows = try await scenario.rows()
            for (place, (_, time)) in zones.enumerated() {
                for way in ["copied", "logged"] {
                    let row = rows["lists/\(way) \(place)"] ?? ""
                    #expect(row.contains(#""moment":"2024-07-01T\#(time).000Z""#), "\(row)")
                    #expect(row.contains(#""wall":"2024-07-01T12:00:00.000Z""#), "\(row)")
                }
            }
        }
    }

    @Test func aTableInMemoryIsEmptyAfterTheServerHasBeenRestarted() async throws {
        let server = try await TestMySQLServer()
        let scenario = try await MySQLScenario(
            ["CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(40)) ENGINE = MEMORY"],
            on: server
        )
        try await scenario.replicating {
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u'), ('b', 'u')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
            server.stop()
            try await server.start()
            // Its first use.
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'u')")
            try await scenario.untilPublished { try await scenario.ids() == ["c"] }
        }
    }

    @Test(isMariaDB) func anAlterationInTwoPartsIsOne() async throws {
        let scenario = try await MySQLScenario([
            "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, n INT)", "INSERT INTO lists VALUES ('a', 1), ('b', 1)",
        ])
        try await scenario.replicating {
            try await scenario.caughtUp()
            let session = try await scenario.database.open()
            defer { session.close() }
            try await session.execute("SET SESSION binlog_alter_two_phase = ON")
            try await session.execute("ALTER TABLE lists MODIFY n BIGINT")
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 5000000000)")
            try await scenario.caughtUp()
            await #expect(throws: MySQLConnectionError.self) {
                try await session.execute("ALTER TABLE lists ADD UNIQUE (n)")
            }
            try await scenario.database.run("UPDATE lists SET n = 2 WHERE id = 'a'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "c"])
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 2)
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    @Test func aWriteCheckpointPassesOnAServerThatIsIdle() async throws {
        let server = try await TestMySQLServer()
        let scenario = try await MySQLScenario(on: server)
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'x')")
            try await scenario.caughtUp()
            for _ in 0..<3 {
                let head = try await scenario.head()
                let start = ContinuousClock.now
                try await scenario.published { $0.lsn >= head.lsn }
                #expect(ContinuousClock.now - start < .seconds(2))
                #expect(try await scenario.source.head() == head)
            }
        }
    }

    // MARK: Two services

    /// MariaDB gives the log to the one that came later; to MySQL they are two, by their UUIDs.
    @Test func twoServicesWithOneNumber() async throws {
        let database = try await TestMySQLDatabase("CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY)")
        var plan = try plan(MySQLScenario.all())
        plan.defaultSchema = database.name
        var settings = MySQLSettings(uri: database.uri)
        // Of eight numbers, each takes the one of its handle.
        settings.serverID = 3_000_000_000
        let sources = (0..<2).map { _ in MySQLSource(settings, connecting: database.settings, logger: TestMySQL.logger)
        }
        let first = "stream 1 of \(database.name)"
        let number = ReplicaIdentity(first, firstNumber: settings.serverID).number
        let second = try #require(
            (2..<1000).lazy.map { "stream \($0) of \(database.name)" }.first {
                ReplicaIdentity($0, firstNumber: settings.serverID).number == number
            }
        )
        let position = try await sources[0].prepareStream(first, resumingAfter: nil, reached: nil)
        _ = try await sources[1].prepareStream(second, resumingAfter: nil, reached: nil)
        let error = await #expect(throws: (any Error).self) {
            try await sources[0].reads(first, after: position, plan) { reader in
                _ = try await reader.next()
                try await sources[1].reads(second, after: position, plan) { other in
                    _ = try await other.next()
                    try await database.run("INSERT INTO lists VALUES ('a')")
                    while try await !other.next().contains(where: { if case .changes = $0 { true } else { false } }) {}
                }
                // On MariaDB what is on its way may come before the end.
                while try await !reader.next().contains(where: { if case .changes = $0 { true } else { false } })
                    || !TestMySQL.isMySQL
                {}
                throw CancellationError()
            }
        }
        if TestMySQL.isMySQL {
            #expect(error is CancellationError)
        } else {
            #expect("\(error.map { "\($0)" } ?? "")".contains("give each a server_id of its own"))
        }
        for source in sources { try source.close() }
    }
}
