import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What the delegate of a background session is told, and who waits for it; there is no such session on Linux.
@Suite(.timeLimit(.minutes(1))) struct BackgroundTransfersTests {
    private let transfers: BackgroundTransfers
    /// Fired when a caller has begun to wait.
    private let waits = Signal()
    private let upload = BackgroundTransfer(.upload, Attachment(id: "1", filename: "1.jpg", state: .queuedUpload))

    init() {
        transfers = BackgroundTransfers { [waits] in waits.fire() }
    }

    /// Begins a transfer, and returns when its task has begun and its caller waits.
    private func begin(
        _ task: Int,
        _ steps: NIOLockedValueBox<[Int64]> = NIOLockedValueBox([])
    ) async throws -> Task<BackgroundOutcome, any Error> {
        let transfer = Task {
            try await transfers.transfer(upload) { bytes, _ in
                steps.withLockedValue { $0.append(bytes) }
            } begin: {
                task
            }
        }
        try await waitForCaller()
        return transfer
    }

    private func waitForCaller() async throws {
        try await waits.wait { transfers.condition(of: upload) == .waitedFor ? () : nil }
    }

    @Test func aCallerGetsProgressAndTheEnd() async throws {
        let steps = NIOLockedValueBox<[Int64]>([])
        let transfer = try await begin(7, steps)
        transfers.progressed(upload, bytes: 5, of: 9)
        // Of another task with the same file, which has been replaced.
        transfers.completed(6, upload, .answered(status: 200))
        #expect(transfers.condition(of: upload) == .waitedFor)
        transfers.completed(7, upload, .answered(status: 201))
        #expect(try await transfer.value == .answered(status: 201))
        #expect(steps.withLockedValue(\.self) == [5])
        // Nothing is left of it.
        #expect(transfers.condition(of: upload) == .nothing)
        transfers.progressed(upload, bytes: 9, of: 9)
        #expect(steps.withLockedValue(\.self) == [5])
    }

    @Test func aCancelledCallerLeavesTheTaskToTheSystem() async throws {
        let transfer = try await begin(1)
        transfer.cancel()
        await #expect(throws: CancellationError.self) { try await transfer.value }
        #expect(transfers.condition(of: upload) == .running)
        // It ends while no caller waits.
        transfers.completed(1, upload, .answered(status: 200))
        let later = try await transfers.transfer(upload) { _, _ in
        } begin: {
            Issue.record("It is there already")
            return 2
        }
        #expect(later == .answered(status: 200))
        #expect(transfers.condition(of: upload) == .nothing)
    }

    @Test(
        arguments: [
            .answered(status: 503), .failed(isTimeout: true, message: "no network"), .cancelled,
        ] as [BackgroundOutcome]
    )
    func whatHasFailedWithoutACallerIsBegunAnew(_ outcome: BackgroundOutcome) {
        transfers.found(3, upload)
        #expect(transfers.condition(of: upload) == .running)
        transfers.completed(3, upload, outcome)
        #expect(transfers.condition(of: upload) == .nothing)
    }

    /// It was in the list of tasks, and ended before the list was read.
    @Test func aTaskThatHasEndedIsNotFoundAnyMore() {
        transfers.completed(3, upload, .cancelled)
        transfers.found(3, upload)
        #expect(transfers.condition(of: upload) == .nothing)
    }

    /// A process that was ended has left it.
    @Test func aTaskOfAnEarlierProcessIsJoined() async throws {
        transfers.found(3, upload)
        let transfer = Task {
            try await transfers.transfer(upload) { _, _ in
            } begin: {
                Issue.record("There is one")
                return 4
            }
        }
        try await waitForCaller()
        let error = await #expect(throws: AttachmentTransferError.self) {
            _ = try await transfers.transfer(upload) { _, _ in
            } begin: {
                5
            }
        }
        #expect(error?.code == .inProgress)
        transfers.completed(3, upload, .answered(status: 204))
        #expect(try await transfer.value == .answered(status: 204))
    }

    /// Its events come from another thread than the call that begins it.
    @Test func aTaskMayEndBeforeItIsKnown() async throws {
        for outcome in [BackgroundOutcome.answered(status: 200), .answered(status: 500)] {
            let ended = try await transfers.transfer(upload) { _, _ in
            } begin: {
                transfers.completed(1, upload, outcome)
                return 1
            }
            #expect(ended == outcome)
            #expect(transfers.condition(of: upload) == .nothing)
        }
    }

    @Test func aTaskThatCannotBeBegunLeavesNothing() async throws {
        await #expect(throws: AttachmentStorageError.notFound) {
            _ = try await transfers.transfer(upload) { _, _ in
            } begin: {
                throw AttachmentStorageError.notFound
            }
        }
        #expect(transfers.condition(of: upload) == .nothing)
    }

    @Test func theSystemIsToldWhenAllEventsHaveCome() {
        let calls = NIOLockedValueBox(0)
        transfers.didReceiveEvents()
        transfers.willReceiveEvents { calls.withLockedValue { $0 += 1 } }
        transfers.didReceiveEvents()
        transfers.didReceiveEvents()
        #expect(calls.withLockedValue(\.self) == 1)
    }

    @Test func aDescriptionTellsATransferApart() throws {
        let download = BackgroundTransfer(.download, Attachment(id: "1", filename: "1.jpg", state: .queuedDownload))
        #expect(BackgroundTransfer(text: upload.text) == upload)
        #expect(upload.text == #"{"filename":"1.jpg","id":"1","kind":"upload"}"#)
        #expect(BackgroundTransfer(text: nil) == nil && BackgroundTransfer(text: "of the app") == nil)
        #expect(download.storedName.utf8.count == 64 && download.storedName != upload.storedName)
    }

    @Test func outcomesAreThoseOfTransfers() throws {
        let download = BackgroundTransfer(.download, Attachment(id: "1", filename: "1.jpg", state: .queuedDownload))
        func error(_ outcome: BackgroundOutcome, _ transfer: BackgroundTransfer, isConditional: Bool = false) -> String
        {
            do {
                try outcome.check(transfer, request: "PUT https://s/1", isConditional: isConditional)
                return ""
            } catch let error as AttachmentTransferError {
                return "\(error.code) \(error.isRetriable)"
            } catch AttachmentStorageError.notFound {
                return "notFound"
            } catch {
                return "\(error)"
            }
        }
        #expect(error(.answered(status: 200), upload) == "")
        #expect(error(.answered(status: 412), upload, isConditional: true) == "")
        #expect(error(.answered(status: 412), upload) == "status false")
        #expect(error(.answered(status: 503), upload) == "status true")
        #expect(error(.answered(status: 404), download) == "notFound")
        #expect(error(.answered(status: 404), upload) == "status false")
        #expect(error(.failed(isTimeout: true, message: "x"), download) == "timeout true")
        #expect(error(.failed(isTimeout: false, message: "x"), download) == "connection true")
        #expect(error(.cancelled, download) == "CancellationError()")
    }
}
