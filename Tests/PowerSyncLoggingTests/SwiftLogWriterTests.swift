import InMemoryLogging
import Logging
import PowerSync
import PowerSyncLogging
import Testing

@Suite struct SwiftLogWriterTests {
    private let handler = InMemoryLogHandler()

    private func writer(_ level: Logging.Logger.Level = .trace) -> SwiftLogWriter {
        var logger = Logging.Logger(label: "test") { _ in handler }
        logger.logLevel = level
        return SwiftLogWriter(logger)
    }

    static let levels: [(LogSeverity, Logging.Logger.Level)] = [
        (.debug, .debug), (.info, .info), (.warning, .warning), (.error, .error), (.fault, .critical),
    ]

    @Test(arguments: levels)
    func severitiesAreLevels(_ severity: LogSeverity, _ level: Logging.Logger.Level) {
        writer().log(severity: severity, message: "The sync stream ended.", tag: "SyncClient")
        #expect(handler.entries.map(\.level) == [level])
        #expect(handler.entries.map(\.message) == ["The sync stream ended."])
        #expect(handler.entries.map(\.metadata) == [["ps.tag": "SyncClient"]])
    }

    @Test func withoutATagThereIsNoMetadata() {
        writer().log(severity: .info, message: "a", tag: nil)
        #expect(handler.entries.map(\.metadata) == [[:]])
    }

    @Test func theLevelOfTheLoggerHoldsMessagesBack() {
        let logger = DefaultLogger(minSeverity: .info, writers: [writer(.warning)])
        logger.debug("a", tag: nil)
        logger.info("b", tag: nil)
        logger.warning("c", tag: nil)
        #expect(handler.entries.map(\.message) == ["c"])
    }

    @Test func aDatabaseSpeaksThroughIt() async throws {
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("name")])),
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [writer()])
        )
        try await database.execute("INSERT INTO lists (id, name) VALUES ('1', 'Groceries')")
        try await database.close()
        let opened = try #require(handler.entries.first { $0.message.description.hasPrefix("Opened connection.") })
        #expect(opened.level == .debug)
        #expect(opened.metadata == ["ps.tag": "Database"])
    }
}
