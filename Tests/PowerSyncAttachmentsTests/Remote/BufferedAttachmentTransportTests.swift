import Foundation
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A transport over a remote storage of whole files.
@Suite(.timeLimit(.minutes(1)))
struct BufferedAttachmentTransportTests {
    private let remote = InMemoryRemoteStorage()
    private let local = InMemoryLocalStorage()
    private let attachment = Attachment(id: "1", filename: "1.jpg", state: .queuedUpload)

    private var transport: BufferedAttachmentTransport { BufferedAttachmentTransport(remote: remote, local: local) }
    private var located: LocatedAttachment { LocatedAttachment(attachment: attachment, localPath: "/d/1.jpg") }

    @Test
    func bringsFilesThereAndBackAndSaysHowLargeTheyAre() async throws {
        local["/d/1.jpg"] = .pattern(1000)
        let steps = TransferSteps()
        try await transport.upload(located, progress: steps.add)
        #expect(remote.files == ["1.jpg": .pattern(1000)])
        #expect(steps.all == [.init(bytes: 0, total: 1000), .init(bytes: 1000, total: 1000)])

        let path = "/d/1.jpg.download.pstmp"
        let download = TransferSteps()
        try await transport.download(LocatedAttachment(attachment: attachment, localPath: path), progress: download.add)
        #expect(local[path] == .pattern(1000))
        #expect(download.all == [.init(bytes: 0, total: nil), .init(bytes: 1000, total: 1000)])

        try await transport.delete(attachment)
        #expect(remote.files == [:])
        #expect(remote.calls == [.init(.upload, id: "1"), .init(.download, id: "1"), .init(.delete, id: "1")])
    }

    @Test
    func takesAlreadyExistsForACompleteUpload() async throws {
        local["/d/1.jpg"] = .pattern(10)
        remote.fail(.upload, with: AttachmentStorageError.alreadyExists)
        let steps = TransferSteps()
        try await transport.upload(located, progress: steps.add)
        #expect(steps.all.last == .init(bytes: 10, total: 10))
    }

    @Test
    func takesNotFoundForACompleteDeletion() async throws {
        try await transport.delete(attachment)
        #expect(remote.calls == [.init(.delete, id: "1")])
    }

    @Test
    func passesTheErrorsOfBothStoragesOnAsTheyAre() async throws {
        await #expect(throws: AttachmentStorageError.notFound) { try await transport.download(located) { _, _ in } }
        await #expect(throws: PowerSyncAttachmentError.self) { try await transport.upload(located) { _, _ in } }
        #expect(remote.calls == [.init(.download, id: "1")])
        for operation in InMemoryRemoteStorage.Operation.allCases {
            remote.fail(operation, with: CocoaError(.userCancelled))
        }
        local["/d/1.jpg"] = .pattern(10)
        await #expect(throws: CocoaError.self) { try await transport.download(located) { _, _ in } }
        await #expect(throws: CocoaError.self) { try await transport.upload(located) { _, _ in } }
        await #expect(throws: CocoaError.self) { try await transport.delete(attachment) }
    }

    @Test
    func downloadThatCannotBeSavedIsAnError() async throws {
        remote["1.jpg"] = .pattern(10)
        local.fail(.save, with: PowerSyncAttachmentError.ioError(POSIXError(.ENOSPC)), times: 1)
        let error = await #expect(throws: PowerSyncAttachmentError.self) {
            try await transport.download(located) { _, _ in }
        }
        #expect(error?.isDiskFull == true)
        #expect(local.files == [:])
        try await transport.download(located) { _, _ in }
        #expect(local["/d/1.jpg"] == .pattern(10))
    }

    @Test
    func downloadThatIsCancelledWhenTheBytesHaveComeDoesNotWriteThem() async throws {
        remote["1.jpg"] = .pattern(10)
        let gate = remote.hold(.download, ignoringCancellation: true)
        let (transport, located) = (transport, located)
        let task = Task { try await transport.download(located) { _, _ in } }
        try await gate.waitForArrivals(1)
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(local.files == [:])
    }
}
