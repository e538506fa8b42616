import Foundation
import Testing

@testable import PowerSyncClient

@Suite struct DefaultLoggerTests {
    @Test(arguments: LogSeverity.allCases)
    func messagesBelowTheMinimumSeverityAreDropped(_ minimum: LogSeverity) {
        let writer = CollectingLogWriter()
        let logger = DefaultLogger(minSeverity: minimum, writers: [writer])
        logger.debug("message", tag: "tag")
        logger.info("message", tag: "tag")
        logger.warning("message", tag: "tag")
        logger.error("message", tag: "tag")
        logger.fault("message", tag: "tag")
        let expected = LogSeverity.allCases.filter { $0.rawValue >= minimum.rawValue }
        #expect(writer.entries == expected.map { .init(severity: $0, message: "message", tag: "tag") })
    }

    @Test func configurationCanChange() {
        let (first, second) = (CollectingLogWriter(), CollectingLogWriter())
        let logger = DefaultLogger(minSeverity: .fault, writers: [first])
        logger.error("dropped")
        logger.setMinSeverity(.error)
        logger.error("first")
        logger.setWriters([second])
        logger.error("second")
        #expect(first.entries.map(\.message) == ["first"])
        #expect(second.entries == [.init(severity: .error, message: "second", tag: nil)])
    }

    #if os(Linux)
    @Test func aLineThatCannotBeWrittenIsNoReasonToEnd() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let logger = DefaultLogger(minSeverity: .debug, writers: [PrintLogWriter(output: full)])
        logger.error("The disk is full")
        try full.close()
        logger.error("The output was closed")
    }
    #endif

    @Test func severitiesHaveNames() {
        #expect((0...5).map { LogSeverity.string(from: $0) } == ["DEBUG", "INFO", "WARNING", "ERROR", "FAULT", nil])
    }

    @Test(
        arguments: [("Sync", "[Sync] text"), ("", "text"), (nil, "text")] as [(String?, String)]
    )
    func tagStandsInBracketsIfThereIsOne(_ tag: String?, _ text: String) {
        #expect(PrintLogWriter.text(message: "text", tag: tag) == text)
    }

    @Test func requestLoggerPassesLinesOn() {
        let writer = CollectingLogWriter()
        let configuration = SyncRequestLoggerConfiguration(
            requestLevel: .all,
            logger: DefaultLogger(writers: [writer]),
            logSeverity: .info,
            logTag: "Requests"
        )
        configuration.log("line")
        #expect(writer.entries == [.init(severity: .info, message: "line", tag: "Requests")])
    }
}
