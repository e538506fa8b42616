import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Whose errors are whose.
@Suite(.timeLimit(.minutes(1))) struct ReplicatedSourceTests {
    private struct Outage: Error, CustomStringConvertible {
        let description = "the cable is cut"
    }

    /// A source whose calls fail.
    private struct FailingSource: ForwardingSource {
        let source: EmbeddedSource
        let error: any Error

        func head(having known: SourcePosition?) async throws -> SourcePosition { throw error }

        func withChanges<Result>(
            of handle: String,
            after position: SourcePosition,
            tables: [SourceTable],
            plan: SyncPlan,
            _ body: (inout any ChangeReader) async throws -> Result
        ) async throws -> Result {
            var reader: any ChangeReader = FailingReader(error: error)
            return try await body(&reader)
        }
    }

    private struct FailingReader: ChangeReader {
        let error: any Error

        mutating func next() async throws -> [SourceMessage] { throw error }
    }

    private static func source(failingWith error: any Error) throws -> ReplicatedSource {
        let source = FailingSource(source: try SourceScenario().source, error: error)
        return ReplicatedSource(source, clock: TestClock(), touch: {})
    }

    private static func readChanges(
        of source: ReplicatedSource,
        _ body: (inout any ChangeReader) async throws -> Void
    ) async throws {
        let position = SourcePosition(LSN("1"), of: SourceHistory(rawValue: "h"))
        try await source.withChanges(of: "slot", after: position, tables: [], plan: .empty, body)
    }

    @Test func errorsOfCallsAreThoseOfTheSourceInTheirOwnWords() async throws {
        let source = try Self.source(failingWith: Outage())
        let calls: [() async throws -> Void] = [
            { _ = try await source.head() }, { try await Self.readChanges(of: source) { _ = try await $0.next() } },
        ]
        for call in calls {
            let error = await #expect(throws: ReplicationSourceError.self) { try await call() }
            #expect(error?.code == .unavailable)
            #expect(error?.description == "the cable is cut")
            #expect(error?.underlyingError is Outage)
        }
    }

    private struct Refusal: CataloguedError, CustomStringConvertible {
        var catalogueCode: ErrorCode?
        let description = "no such table"
    }

    @Test(
        arguments: [
            (nil, "no such table"), (.sourceQuery, "no such table [PSYNC_S1120]"),
            (.sourceTimeout, "no such table [PSYNC_S1121]"),
        ] as [(ErrorCode?, String)]
    )
    func errorsHaveTheirCode(_ code: ErrorCode?, _ text: String) async throws {
        let source = try Self.source(failingWith: Refusal(catalogueCode: code))
        let error = await #expect(throws: ReplicationSourceError.self) { _ = try await source.head() }
        #expect(error?.description == text)
    }

    @Test func errorsThatSayWhatToDoStayAsTheyAre() async throws {
        let source = try Self.source(failingWith: ReplicationSourceError(.tablesChanged, "another table"))
        let error = await #expect(throws: ReplicationSourceError.self) { _ = try await source.head() }
        #expect(error?.code == .tablesChanged)
        let cancelled = try Self.source(failingWith: CancellationError())
        await #expect(throws: CancellationError.self) { _ = try await cancelled.head() }
    }

    @Test func errorsOfWhoeverReadsChangesAreNotThoseOfTheSource() async throws {
        let source = try Self.source(failingWith: CancellationError())
        await #expect(throws: Outage.self) { try await Self.readChanges(of: source) { _ in throw Outage() } }
    }
}
