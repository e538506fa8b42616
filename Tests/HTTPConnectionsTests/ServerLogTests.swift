import HTTPConnections
import InMemoryLogging
import Logging
import Testing

/// What a server of Hummingbird says itself, and what is left of that for the log of its owner.
@Suite struct ServerLogTests {
    private static let server = "HummingbirdCore"

    private static func logged(_ log: (Logger) -> Void) -> [InMemoryLogHandler.Entry] {
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .trace
        log(logger.ofServer)
        return handler.entries
    }

    @Test func whereItListensIsSaidByItsOwner() {
        let entries = Self.logged { logger in
            logger.info("Server started and listening on 127.0.0.1:8080", source: Self.server)
            logger.info("Running on port", metadata: ["port": "8080"], source: "PowerSyncService")
        }
        #expect(entries.map { "\($0.message)" } == ["Running on port"])
        #expect(entries.first?.metadata == ["port": "8080"])
    }

    @Test(arguments: Logger.Level.allCases)
    func allElseIsPassedOn(_ level: Logger.Level) {
        let entries = Self.logged { logger in
            var logger = logger
            logger[metadataKey: "rid"] = "h/1"
            logger.log(level: level, "a", source: "Hummingbird")
            if level != .info { logger.log(level: level, "b", source: Self.server) }
        }
        #expect(entries.map { "\($0.message)" } == (level == .info ? ["a"] : ["a", "b"]))
        #expect(entries.allSatisfy { $0.level == level && $0.metadata == ["rid": "h/1"] })
    }

    @Test func theLevelIsThatOfItsOwner() {
        let handler = InMemoryLogHandler()
        var logger = Logger(label: "test") { _ in handler }
        logger.logLevel = .error
        var server = logger.ofServer
        #expect(server.logLevel == .error)
        server.logLevel = .debug
        #expect(server.logLevel == .debug && logger.logLevel == .error)
    }
}
