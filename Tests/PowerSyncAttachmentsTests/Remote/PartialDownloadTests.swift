import Foundation
import NIOCore
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// The file of a download, which several may want to write.
@Suite(.timeLimit(.minutes(1))) struct PartialDownloadTests {
    private static let content = Data.pattern(1000)
    private static let names = ["a.download.pstmp", "a.download.pstmp.state.pstmp"]

    private func open(_ remains: DownloadRemains, at offset: Int64 = 0) async throws -> PartialDownload {
        try await PartialDownload(
            remains,
            from: DownloadRecord(bytes: offset, etag: "\"v1\"", total: 1000),
            isResumable: true,
            isHashed: false
        )
    }

    /// Downloads so many bytes, as another process does.
    private func download(_ count: Int, to path: String) async throws {
        var file = try await open(DownloadRemains.find(at: path))
        try await file.write(ByteBuffer(bytes: PartialDownloadTests.content.prefix(count)))
        if count == PartialDownloadTests.content.count {
            try await file.finish()
        } else {
            await file.interrupt()
        }
        file.close()
    }

    private func expectRefusal(_ remains: DownloadRemains, at offset: Int64 = 0) async {
        let error = await #expect(throws: AttachmentTransferError.self) { try await open(remains, at: offset) }
        #expect(error?.code == .inProgress)
    }

    /// Runs a test in a directory, with the path of the file.
    private func run(_ body: (AttachmentsFolder, String) async throws -> Void) async throws {
        try await AttachmentsFolder.run { folder async throws in
            try await body(folder, folder(PartialDownloadTests.names[0]))
        }
    }

    @Test
    func isLeftAloneWhenAnotherOneHasCompletedItSinceTheRequestWasSent() async throws {
        try await run { folder, path async throws in
            let before = try await DownloadRemains.find(at: path)
            try await download(1000, to: path)
            await expectRefusal(before)
            #expect(try folder.read(PartialDownloadTests.names[0]) == PartialDownloadTests.content)

            // It has got its name: the path is free, and that file stays as it is.
            try OpenFile.rename(path, to: folder("a"))
            let file = try await open(before)
            #expect(try folder.read("a") == PartialDownloadTests.content)
            #expect(try folder.read(PartialDownloadTests.names[0]).isEmpty)
            file.close()
        }
    }

    @Test
    func isNotContinuedWhenItIsAnotherOneByThen() async throws {
        try await run { folder, path async throws in
            try await download(400, to: path)
            let before = try await DownloadRemains.find(at: path)
            #expect(before.record?.bytes == 400)
            await PartialDownload.discard(path)
            await expectRefusal(before, at: 400)
            #expect(try folder.names == [])

            try await download(600, to: path)
            await expectRefusal(before, at: 400)
            #expect(try await DownloadRemains.find(at: path).record?.bytes == 600)
        }
    }

    @Test
    func isNotTheOneThatWasRemovedWhileItWasWrittenAndNeitherIsWhatIsBesideIt() async throws {
        try await run { folder, path async throws in
            for ending in [Ending.finish, .interrupt, .discard] {
                var removed = try await open(DownloadRemains.find(at: path))
                try await removed.write(ByteBuffer(bytes: PartialDownloadTests.content))
                // As the queue of another process does that gives the download up.
                try OpenFile.remove(path)
                try await download(300, to: path)
                switch ending {
                case .finish: await #expect(throws: PowerSyncAttachmentError.self) { try await removed.finish() }
                case .interrupt: await removed.interrupt()
                case .discard: await removed.discard()
                }
                removed.close()
                #expect(try folder.names == PartialDownloadTests.names)
                #expect(try await DownloadRemains.find(at: path).record?.bytes == 300)
                await PartialDownload.discard(path)
                #expect(try folder.names == [])
            }
        }
    }

    /// How a download ends.
    private enum Ending {
        case finish, interrupt, discard
    }

    @Test
    func isFreeAgainAsSoonAsTheDownloadIsOver() async throws {
        try await run { _, path async throws in
            for count in 1...20 { try await download(count, to: path) }
            try await download(1000, to: path)
        }
    }
}
