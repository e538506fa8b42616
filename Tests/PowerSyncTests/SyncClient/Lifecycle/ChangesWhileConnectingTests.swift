import Foundation
import PowerSyncCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// What the app does while a call is under way ends in the same state as if it were done just before or just after that call.
@Suite(.timeLimit(.minutes(2))) struct ChangesWhileConnectingTests {
    enum Change: CaseIterable {
        case subscribe, unsubscribe, write
    }

    enum Call: CaseIterable {
        case connect, requestCheckpoint
    }

    /// A service that answers everything at once.
    private final class Service: Sendable {
        private let requests: Shared<[String]>
        private let arrivals: Signal
        private let tasks: [Task<Void, any Error>]

        init(_ service: ScriptedTransport) {
            let (requests, arrivals) = (Shared<[String]>([]), Signal())
            self.requests = requests
            self.arrivals = arrivals
            tasks = [
                Task {
                    while true {
                        let stream = try await service.nextStream()
                        stream.accept()
                        stream.send(.checkpoint(1))
                        requests.value.append(stream.requestText)
                        arrivals.fire()
                    }
                },
                Task { while true { try await service.nextWriteCheckpoint().respond(1) } },
                Task {
                    while true {
                        let request = try await service.nextCheckpointRequest()
                        request.respond(request.requestID ?? 1)
                    }
                },
            ]
        }

        deinit { tasks.forEach { $0.cancel() } }

        /// Waits until the newest request for a sync stream has a subscription, or has none.
        func waitForRequest(withSubscription: Bool) async throws {
            try await arrivals.wait {
                requests.value.last?.contains("wanted") == withSubscription ? () : nil
            }
        }
    }

    @Test(arguments: Change.allCases, Call.allCases)
    func aChangeAtAnyAwaitIsNotLost(change: Change, call: Call) async throws {
        for steps in 0..<16 { try await make(change, during: call, after: steps) }
    }

    private func make(_ change: Change, during call: Call, after steps: Int) async throws {
        let harness = SyncHarness()
        let service = Service(harness.service)
        let stream = harness.database.syncStream(name: "wanted", params: nil)
        var handle: (any SyncStreamSubscription)?
        if change == .unsubscribe { handle = try await stream.subscribe() }
        let options = ConnectOptions(checkpointMode: call == .requestCheckpoint ? .requests() : .legacy)
        if call == .requestCheckpoint {
            try await harness.connect(options)
            try await harness.wait { $0.connected }
        }
        let calling = Task {
            switch call {
            case .connect: try await harness.connect(options)
            case .requestCheckpoint: _ = try await harness.database.requestCheckpoint()
            }
        }
        for _ in 0..<steps { await Task.yield() }
        switch change {
        case .subscribe: handle = try await stream.subscribe()
        case .unsubscribe: try await stream.unsubscribeAll()
        case .write: try await harness.insert("x")
        }
        try await calling.value
        try await harness.clock.withoutDelays {
            switch change {
            case .subscribe, .unsubscribe:
                try await service.waitForRequest(withSubscription: change == .subscribe)
            case .write:
                for try await queue in try harness.database.watchUploadQueue(throttle: 0)
                where queue.count == 0 && harness.connector.uploads > 0 { break }
            }
        }
        try await harness.wait { ($0.forStream(stream: stream) != nil) == (change == .subscribe) }
        withExtendedLifetime((handle, service)) {}
        try await harness.database.close()
    }

    @Test(arguments: [false, true]) func noErrorIsLeftAfterAConnectionThatTheAppHasEnded(clears: Bool) async throws {
        let harness = SyncHarness()
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.wait { $0.lastUploadError != nil }
        stream.fail(ScriptedError())
        try await harness.wait { $0.lastDownloadError != nil }
        if clears {
            try await harness.database.disconnectAndClear()
        } else {
            try await harness.database.disconnect()
        }
        #expect(harness.database.currentStatus.anyError == nil)
        #expect(harness.database.currentStatus.uploadError == nil)
    }

    @Test func theStatusOfTheFileStaysWhileAFirstConnectionIsMade() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = SyncHarness(path: path)
            _ = try await first.database.syncStream(name: "wanted", params: nil).subscribe()
            try await first.connectAndAccept().send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
            try await first.wait { $0.hasSynced == true }
            try await first.database.close()

            let (second, gate) = (SyncHarness(path: path), TaskGate())
            second.connector.onFetch { _ in
                try await gate.pass()
                throw ScriptedError()
            }
            let statuses = second.database.currentStatus.asFlow()
            try await second.connect()
            try await second.connector.waitForFetches(1)
            gate.open()
            for await status in statuses where status.hasSynced != nil {
                #expect(status.hasSynced == true && status.lastSyncedAt != nil)
                #expect(status.syncStreams?.count == 1)
                #expect(status.priorityStatusEntries.count == 1)
                if status.downloadError != nil { break }
            }
            try await second.database.close()
        }
    }
}
