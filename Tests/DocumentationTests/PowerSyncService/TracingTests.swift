import Foundation
import GRDB
import InMemoryTracing
import PowerSync
import PowerSyncService
import ServiceTestSupport
import Testing
import Tracing

/// The spans that `docs/service.md` promises.
@Suite(.timeLimit(.minutes(2))) struct TracingTests {
    /// The tracer of this process, of which there can be only one.
    private static let tracer: InMemoryTracer = {
        let tracer = InMemoryTracer()
        InstrumentationSystem.bootstrap(tracer)
        return tracer
    }()

    @Test func whatTheServiceDoesIsRecorded() async throws {
        Self.tracer.clearAll()
        let log = CollectedLog()
        let folder = try NotesServer.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await NotesServer.whileRunning(in: folder, logger: log.logger) { server in
            let client = server.client("phone", of: "anna")
            try await client.connect()
            try await client.wait(for: ["old"])
            try await server.database.write { db in try db.execute(sql: "UPDATE notes SET text = 'secret'") }
            try await client.wait(for: ["secret"])
            try await client.close()
            // Before the service is told to end, which would be another reason.
            _ = try await log.line(containing: "Sync stream complete")
        }
        func file(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }
        let configuration = ServiceConfiguration(
            source: .embedded(path: file("app.db"), statements: []),
            storage: .sqlite(path: file("buckets.db")),
            syncConfig: .deployed
        )
        #expect(try await SyncService.compact(configuration).movedOperations == 1)
        #expect(Self.tracer.activeSpans.isEmpty)
        let spans = Self.tracer.finishedSpans
        func named(_ name: String) -> [FinishedInMemorySpan] { spans.filter { $0.operationName == name } }

        let copy = try #require(named("copy table").first)
        #expect(copy.attributes.get("powersync.table") == SpanAttribute.string("main.notes"))
        #expect(copy.attributes.get("powersync.rows") == SpanAttribute.int64(1))
        #expect(named("make checkpoint").count >= 2)
        #expect(named("compact").count == 1)
        let request = try #require(named("/sync/stream").first)
        #expect(request.kind == .server)
        let stream = try #require(named("sync stream").first)
        #expect(stream.spanContext.parentSpanID == request.spanContext.spanID)
        #expect(stream.attributes.get("powersync.operations_synced") == SpanAttribute.int64(2))
        #expect(stream.attributes.get("powersync.close_reason") == SpanAttribute.string("client closing stream"))
        // What rows and tokens have is nobody's business.
        for span in spans {
            span.attributes.forEach { name, value in
                #expect(!"\(value)".contains("secret") && !"\(value)".contains("eyJ"), "\(name): \(value)")
            }
        }
    }
}
