import MySQLTestSupport
import NIOCore
import PowerSyncMySQLConnection
import Testing

/// The binary log of a real server.
@Suite(.timeLimit(.minutes(1)))
struct MySQLLogTests {
    private let logger = TestMySQL.logger

    /// The file that is written to, and its end.
    private func end(_ connection: MySQLConnection) async throws -> (file: String, position: UInt32) {
        let statement = TestMySQL.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS"
        let row = try #require(try await connection.query(statement).rows.first)
        return (try #require(row.string("File")), try #require(row.string("Position").flatMap { UInt32($0) }))
    }

    /// The type of an event.
    private func type(_ event: ByteBuffer) -> UInt8 { event.getInteger(at: event.readerIndex + 4) ?? 0 }

    /// The end of an event in its file.
    private func position(_ event: ByteBuffer) -> UInt32 {
        event.getInteger(at: event.readerIndex + 13, endianness: .little) ?? 0
    }

    @Test func aDumpThatDoesNotWaitEnds() async throws {
        let connection = try await TestMySQL.shared().open()
        let (file, _) = try await end(connection)
        let types = try await connection.withBinlog(BinlogRequest(file: file, waits: false)) { packets in
            var types: [UInt8] = []
            while let event = try await packets.next() { types.append(type(event)) }
            #expect(try await packets.next() == nil)
            return types
        }
        // ROTATE and FORMAT_DESCRIPTION.
        #expect(types.prefix(2) == [4, 15])
        #expect(types.count > 2)
        #expect(!connection.isUsable)
    }

    @Test func eventsArriveWhenTheyAreWritten() async throws {
        let database = try await TestMySQLDatabase("CREATE TABLE t (id INT PRIMARY KEY, s TEXT)")
        let connection = try await TestMySQL.shared().open()
        let (file, position) = try await end(connection)
        let request = BinlogRequest(file: file, position: position, serverID: 77_001, uuid: uuid(1), waits: true)
        try await connection.withBinlog(request) { packets in
            try await database.run("INSERT INTO t VALUES (1, 'this one')")
            try await next(in: &packets) { Self.contains($0, "this one") }
            try await database.run("UPDATE t SET s = 'and that one'")
            try await next(in: &packets) { Self.contains($0, "and that one") }
        }
    }

    // Forty megabytes in an event, of which the wire makes three packets.
    @Test func anEventOfMoreThanAPacketIsWhole() async throws {
        let database = try await TestMySQLDatabase("CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)")
        let connection = try await TestMySQL.shared().open()
        let (file, position) = try await end(connection)
        let request = BinlogRequest(file: file, position: position, serverID: 77_002, uuid: uuid(2), waits: true)
        try await connection.withBinlog(request) { packets in
            try await database.run("INSERT INTO t VALUES (1, REPEAT('a', 40 << 20)), (2, 'z')")
            try await next(in: &packets) { $0.readableBytes > 40 << 20 }
            try await next(in: &packets) { type($0) == 16 }
        }
    }

    @Test func heartbeatsArriveWhileNothingIsWritten() async throws {
        let server = try await TestMySQLServer()
        var settings = server.address.settings()
        settings.heartbeat = .milliseconds(50)
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let (file, position) = try await end(connection)
        let request = BinlogRequest(file: file, position: position, serverID: 77_003, uuid: uuid(3), waits: true)
        try await connection.withBinlog(request) { packets in
            for _ in 0..<3 { try await next(in: &packets) { type($0) == 27 } }
            #expect(try packets.nextIfArrived().map { type($0) } ?? 27 == 27)
        }
    }

    @Test func silenceIsAnError() async throws {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        var settings = try TestMySQL.shared().settings()
        settings.port = proxy.port
        settings.heartbeat = .milliseconds(50)
        settings.logTimeout = .milliseconds(300)
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let (file, position) = try await end(connection)
        let request = BinlogRequest(file: file, position: position, serverID: 77_004, uuid: uuid(4), waits: true)
        let error = await #expect(throws: MySQLConnectionError.self) {
            try await connection.withBinlog(request) { packets in
                try await next(in: &packets) { type($0) == 27 }
                proxy.freeze()
                while try await packets.next() != nil {}
            }
        }
        #expect(error?.code == .silence)
        await proxy.allClosed()
    }

    @Test func aFileThatIsNotThereIsTheServersError() async throws {
        let connection = try await TestMySQL.shared().open()
        let error = await #expect(throws: MySQLConnectionError.self) {
            try await connection.withBinlog(BinlogRequest(file: "binlog.900000", waits: false)) { packets in
                while try await packets.next() != nil {}
            }
        }
        #expect(error?.serverCode == 1236)
        #expect(error?.isRetryable == false)
    }

    // The server does not get rid of what is above the limit, and waits, longer than it would by its own setting.
    @Test func aReaderThatPausesMakesTheServerWait() async throws {
        let server = try await TestMySQLServer("--net-write-timeout=1")
        let database = try await TestMySQLDatabase(
            server: server.address,
            "CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)"
        )
        let other = try await server.address.open()
        defer { other.close() }
        let (file, position) = try await end(other)
        for id in 0..<40 { try await database.run("INSERT INTO t VALUES (\(id), REPEAT('b', 1 << 20))") }
        let (_, last) = try await end(other)
        let reader = try await server.address.open()
        let request = BinlogRequest(
            file: file,
            position: position,
            serverID: 77_005,
            uuid: uuid(5),
            waits: true,
            memoryLimit: 4 << 20
        )
        try await reader.withBinlog(request) { packets in
            _ = try await packets.next()
            try await database.run("DO SLEEP(3)")
            let state = try await other.query(
                "SELECT state FROM information_schema.processlist WHERE id = \(reader.connectionID)"
            )
            let text = try #require(state.firstString)
            #expect(!text.contains("has sent all"), "\(text)")
            try await next(in: &packets) { self.position($0) == last }
        }
    }

    private func uuid(_ number: Int) -> String { "6f1d9a02-0000-4000-8000-00000000000\(number)" }

    private static func contains(_ event: ByteBuffer, _ text: String) -> Bool {
        String(decoding: event.readableBytesView, as: UTF8.self).contains(text)
    }

    /// Waits for an event.
    private func next(in packets: inout BinlogPackets, _ isMeant: (ByteBuffer) -> Bool) async throws {
        while let event = try await packets.next() {
            if isMeant(event) { return }
        }
        Issue.record("The log has ended.")
    }
}
