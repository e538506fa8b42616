import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport

@testable import PowerSyncClient

/// Puts a ``ModelService`` behind a ``ScriptedTransport``, for one client, and the client's connector in front of its
/// backend.
final class ModelHost: Sendable {
    let model: ModelService
    private let harness: SyncHarness
    private let current = NIOLockedValueBox<(stream: ScriptedStream, session: ModelSession)?>(nil)
    /// Entries that the client has completed.
    private let completed = NIOLockedValueBox<Set<Int64>>([])
    private let repeated = NIOLockedValueBox<[Int64]>([])
    private let misbehaves = NIOLockedValueBox(true)

    /// The connector takes part at once: it uploads, and fails before it completes anything.
    init(_ model: ModelService, _ harness: SyncHarness) {
        self.model = model
        self.harness = harness
        harness.connector.onUpload { [weak self] database, _ in
            guard let self else { return }
            while let transaction = try await database.getNextCrudTransaction() {
                let uploads = transaction.crud.map { entry in
                    ModelService.Upload(
                        row: entry.id,
                        value: entry.opData?["name"] ?? nil,
                        entry: Int64(entry.clientId)
                    )
                }
                let done = completed.withLockedValue { $0 }
                repeated.withLockedValue { $0 += uploads.map(\.entry).filter(done.contains) }
                model.upload(uploads)
                if misbehaves.withLockedValue({ $0 }) { throw ScriptedError(name: "the answer was lost") }
                try await transaction.complete()
                completed.withLockedValue { $0.formUnion(uploads.map(\.entry)) }
                push()
            }
        }
    }

    /// Entries that were uploaded again after they had been completed.
    var repeatedUploads: [Int64] { repeated.withLockedValue { $0 } }

    /// Serves the client as it should be, until it shows what the service has.
    ///
    /// `first` is a request that has come in already.
    func converge(_ first: ScriptedStream) async throws {
        misbehaves.withLockedValue { $0 = false }
        accept(first)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { while true { self.accept(try await self.harness.service.nextStream()) } }
            tasks.addTask {
                while true {
                    let request = try await self.harness.service.nextWriteCheckpoint()
                    request.respond(self.model.writeCheckpoint(request.clientID))
                    self.push()
                }
            }
            let views = try harness.database.watch("SELECT id, name FROM lists") { cursor in
                (try cursor.getString(name: "id"), try cursor.getString(name: "name"))
            }
            for try await view in views where Dictionary(uniqueKeysWithValues: view) == model.rows { break }
            tasks.cancelAll()
        }
    }

    private func accept(_ stream: ScriptedStream) {
        stream.accept()
        current.withLockedValue { $0 = (stream, ModelSession(stream.request)) }
        push()
    }

    private func push() {
        current.withLockedValue { current in
            guard let stream = current?.stream, var session = current?.session else { return }
            stream.send(model.nextLines(&session))
            current?.session = session
        }
    }
}

extension TestClock {
    /// Runs a test in which retry delays and throttles take no time.
    ///
    /// The time in which a silent stream is given up does not pass.
    func withoutDelays<Result>(_ body: () async throws -> Result) async throws -> Result {
        let ticking = Task {
            while true {
                let delay = try await nextTimerScheduled()
                if delay < .seconds(6) { advance(by: delay) }
            }
        }
        defer { ticking.cancel() }
        return try await body()
    }
}
