import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Uploads in parts, and what continues them.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(2))) struct MultipartUploadTests {
    private static let partSize = 100_000
    /// Five parts, the last one of 50,001 bytes.
    private static let content = Data.pattern(450_001)

    /// A storage, its server, a folder with the file `1.bin`, and a transport.
    private struct Harness: PartsHarness {
        let storage: ModelPartsStorage
        let base = RecordingTransport()
        let server: StorageServer
        let folder: AttachmentsFolder
        let client: PowerSyncHTTPClient
        let date = NIOLockedValueBox(Date(timeIntervalSince1970: 1_795_900_000))
        var partSize = MultipartUploadTests.partSize
        var lanes = 2

        let filename = "1.bin"
        let mediaType = "application/octet-stream"
        var adapter: any AttachmentTransportAdapter { get throws { transport } }

        var transport: MultipartAttachmentTransport {
            var options = AttachmentPartsOptions()
            options.partSize = Int64(partSize)
            options.lanes = lanes
            return MultipartAttachmentTransport(
                storage: storage,
                base: base,
                options: options,
                httpClient: client
            ) { [date] in date.withLockedValue { $0 } }
        }

        /// Uploads until some parts have come, and the storage is overloaded.
        func uploadParts(upTo number: Int) async throws {
            storage.change { $0.interception = { $0 > number ? .init(status: .serviceUnavailable) : nil } }
            // One after the other: none is on its way when the attempt ends.
            var harness = self
            harness.lanes = 1
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.httpStatus == 503)
            storage.change { $0.interception = nil }
            #expect(try folder.names == ["1.bin", "1.bin.upload.pstmp"])
        }

        /// Expects that the storage has the file, and nothing is left of the upload.
        func expectFile(_ content: Data = MultipartUploadTests.content) throws {
            let parts = try #require(storage.current.files["1.bin"])
            var offset = 0
            for part in parts {
                #expect(part.digest == content[offset..<offset + Int(part.size)].sha256)
                offset += Int(part.size)
            }
            #expect(offset == content.count)
            #expect(try folder.names == ["1.bin"])
        }

        /// How many parts came during a body.
        func received(_ body: () async throws -> Void) async throws -> Int {
            let before = storage.current.received
            try await body()
            return storage.current.received - before
        }
    }

    private func run(
        _ content: Data = MultipartUploadTests.content,
        _ body: (Harness) async throws -> Void
    ) async throws {
        let storage = ModelPartsStorage()
        try await withFileToUpload(content, answering: { storage.respond(to: $0) }) { folder, server, client in
            storage.change { $0.url = server.url }
            try await body(Harness(storage: storage, server: server, folder: folder, client: client))
        }
    }

    @Test
    func sendsEachPartOnceWithItsDigestAndLeavesNothingBehind() async throws {
        try await run { harness async throws in
            let steps = try await harness.upload()
            try harness.expectFile()
            #expect(harness.storage.current.begun == 1 && harness.storage.current.received == 5)
            #expect(harness.server.received.allSatisfy { $0.headers["Content-Length"] == ["\($0.size)"] })
            #expect(steps.first == .init(bytes: 0, total: 450_001))
            #expect(steps.last == .init(bytes: 450_001, total: 450_001))
            #expect(harness.base.calls.withLockedValue { $0 } == [])
        }
    }

    @Test(arguments: [0, 1, 100_000])
    func leavesAFileOfOnePartAndAllDownloadsToTheOtherTransport(size: Int) async throws {
        try await run(.pattern(size)) { harness async throws in
            try await harness.upload()
            let located = LocatedAttachment(attachment: harness.attachment, localPath: harness.folder("b"))
            try await harness.transport.download(located) { _, _ in }
            try await harness.transport.delete(harness.attachment)
            #expect(harness.base.calls.withLockedValue { $0 } == ["upload 1", "download 1", "delete 1"])
            #expect(harness.storage.current.begun == 0)
            #expect(try harness.folder.names == ["1.bin"])
        }
    }

    @Test
    func continuesWithWhatAnEndedProcessHasLeft() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            // As after a kill in the middle of a line.
            let journal = harness.folder("1.bin.upload.pstmp")
            let whole = try Data(contentsOf: URL(filePath: journal))
            try (whole + Data(#"{"number":4,"si"#.utf8)).write(to: URL(filePath: journal))

            let steps = TransferSteps()
            let received = try await harness.received {
                let located = LocatedAttachment(attachment: harness.attachment, localPath: harness.folder("1.bin"))
                try await harness.transport.upload(located, progress: steps.add)
            }
            #expect(received == 2)
            #expect(steps.all.first == .init(bytes: 300_000, total: 450_001))
            #expect(harness.storage.current.begun == 1)
            try harness.expectFile()
        }
    }

    /// What a storage has lost, and what it has otherwise than it said, is sent again; nothing else.
    @Test(arguments: ["part", "size", "tag", "digest"])
    func sendsAgainWhatTheStorageDoesNotHaveAsItWasSent(fault: String) async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            harness.storage.change {
                $0.listing = { parts in
                    parts.compactMap { part in
                        guard part.number == 2 else { return part }
                        guard fault != "part" else { return nil }
                        return StoredAttachmentPart(
                            number: 2,
                            size: part.size - (fault == "size" ? 1 : 0),
                            etag: fault == "tag" ? "other" : part.etag,
                            sha256: fault == "digest" ? Data(repeating: 0, count: 32) : part.sha256
                        )
                    }
                }
            }
            #expect(try await harness.received { try await harness.upload() } == 3)
            try harness.expectFile()
        }
    }

    /// The first part is the last one of three that is answered; the storage wants them by their numbers.
    @Test
    func makesTheFileInOrderOfPartsThatEndedInAnother() async throws {
        try await run { harness async throws in
            let gate = StorageServer.Gate()
            harness.storage.change { state in
                state.gates = [1: gate]
                state.interception = { number in
                    // One of two lanes has got here by the end of the second part.
                    if number == 3 { gate.open() }
                    return nil
                }
            }
            #expect(try await harness.received { try await harness.upload() } == 5)
            try harness.expectFile()
        }
    }

    /// It has lost a part, or has another one than it answered.
    @Test(arguments: ["part", "tag"])
    func sendsOnlyThePartAgainThatIsMissedWhenTheFileIsMade(fault: String) async throws {
        try await run { harness async throws in
            let first = NIOLockedValueBox(true)
            harness.storage.change {
                $0.beforeCompletion = { parts in
                    let isFirst = first.withLockedValue { first in
                        defer { first = false }
                        return first
                    }
                    if isFirst { parts[4] = fault == "part" ? nil : parts[4]?.another }
                }
            }
            #expect(try await harness.received { try await harness.upload() } == 6)
            try harness.expectFile()
        }
    }

    @Test
    func givesAnUploadUpWhosePartsAreRefusedForEver() async throws {
        try await run { harness async throws in
            harness.storage.change { $0.beforeCompletion = { $0[1]?.etag = "changed" } }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.code == .unexpectedResponse)
            #expect(harness.storage.current.aborted == ["upload-1"])
            #expect(try harness.folder.names == ["1.bin"])
            harness.storage.change { $0.beforeCompletion = nil }
            try await harness.upload()
            try harness.expectFile()
        }
    }

    @Test(arguments: [404, 410])
    func beginsAnewWhenTheStorageHasForgottenTheUpload(status: Int) async throws {
        try await run { harness async throws in
            // It says so when it is asked for the parts,
            try await harness.uploadParts(upTo: 3)
            harness.storage.change { $0.uploads = [:] }
            try await harness.upload()
            #expect(harness.storage.current.begun == 2)
            try harness.expectFile()
            // or when a part comes,
            let first = NIOLockedValueBox(true)
            harness.storage.change { state in
                state.files = [:]
                state.interception = { number in
                    guard number == 3 else { return nil }
                    let isFirst = first.withLockedValue { first in
                        defer { first = false }
                        return first
                    }
                    return isFirst ? .init(status: .init(statusCode: status)) : nil
                }
            }
            try await harness.upload()
            #expect(harness.storage.current.begun == 4)
            try harness.expectFile()
            // and a new upload that is forgotten as well is an error.
            harness.storage.change { $0.interception = { _ in .init(status: .init(statusCode: status)) } }
            await #expect(throws: AttachmentStorageError.notFound) { try await harness.upload() }
            #expect(harness.storage.current.begun == 6)
        }
    }

    @Test
    func isDoneWhenTheFileWasMadeAndTheAnswerWasLost() async throws {
        try await run { harness async throws in
            let journal = harness.folder("1.bin.upload.pstmp")
            let lines = NIOLockedValueBox(Data())
            harness.storage.change {
                $0.beforeCompletion = { _ in
                    lines.withLockedValue { $0 = (try? Data(contentsOf: URL(filePath: journal))) ?? Data() }
                }
            }
            try await harness.upload()
            try lines.withLockedValue { $0 }.write(to: URL(filePath: journal))
            #expect(try await harness.received { try await harness.upload() } == 0)
            #expect(harness.storage.current.begun == 1)
            try harness.expectFile()
        }
    }

    @Test(arguments: [400, 401, 403])
    func asksForAnotherSignatureOnceWhenOneIsRefused(status: Int) async throws {
        try await run { harness async throws in
            let refused = NIOLockedValueBox<Set<Int>>([])
            harness.storage.change {
                $0.interception = { number in
                    let isFirst = refused.withLockedValue { $0.insert(number).inserted }
                    return isFirst ? .init(status: .init(statusCode: status)) : nil
                }
            }
            try await harness.upload()
            #expect(harness.storage.current.signed == 10)
            try harness.expectFile()

            harness.storage.change { $0.interception = { _ in .init(status: .init(statusCode: status)) } }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.httpStatus == status)
            #expect(error?.isRetriable == false)
        }
    }

    @Test
    func abortsWhatIsOlderThanItsLifetimeAndBeginsAnew() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            harness.date.withLockedValue { $0 += 3 * 86_400 - 1 }
            try await harness.uploadParts(upTo: 4)
            #expect(harness.storage.current.begun == 1)
            harness.date.withLockedValue { $0 += 1 }
            try await harness.upload()
            #expect(harness.storage.current.aborted == ["upload-1"])
            #expect(harness.storage.current.begun == 2)
            try harness.expectFile()
        }
    }

    @Test
    func ofAnotherFileIsNotContinued() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            let other = Data.pattern(450_002)
            try harness.folder.write(other, to: "1.bin")
            try await harness.upload()
            #expect(harness.storage.current.aborted == ["upload-1"])
            try harness.expectFile(other)
        }
    }

    @Test
    func isAbortedWhenItsAttachmentIsDeleted() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            try await harness.transport.delete(harness.attachment)
            #expect(harness.storage.current.aborted == ["upload-1"])
            #expect(harness.base.calls.withLockedValue { $0 } == ["delete 1"])
            #expect(try harness.folder.names == ["1.bin"])
        }
    }

    /// A storage removes unfinished uploads by itself; the file must go.
    @Test
    func anAbortThatIsRefusedKeepsNoFile() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            harness.storage.change { $0.refusesAborts = true }
            try await harness.transport.delete(harness.attachment)
            #expect(harness.base.calls.withLockedValue { $0 } == ["delete 1"])
            #expect(try harness.folder.names == ["1.bin"])
        }
    }

    /// Two attachments may have one file.
    @Test
    func anotherAttachmentOfTheFileAbortsNothingWhenItIsDeletedAndTheRightUploadWhenItBegins() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            let other = Attachment(id: "2", filename: "2.bin", state: .queuedUpload, localUri: harness.folder("1.bin"))
            try await harness.transport.delete(other)
            #expect(harness.storage.current.aborted == [])
            #expect(try harness.folder.names == ["1.bin", "1.bin.upload.pstmp"])
            let located = LocatedAttachment(attachment: other, localPath: harness.folder("1.bin"))
            try await harness.transport.upload(located) { _, _ in }
            #expect(harness.storage.current.aborted == ["upload-1"])
            #expect(harness.storage.current.abortedNames == ["1.bin"])
        }
    }

    /// What a damaged journal says about the size of parts is not believed.
    @Test(arguments: ["9223372036854775807", "100001", "0", "-1"])
    func beginsAnewWithAnotherPartSize(size: String) async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            let journal = URL(filePath: harness.folder("1.bin.upload.pstmp"))
            let text = String(decoding: try Data(contentsOf: journal), as: UTF8.self)
            let damaged = text.replacing("\"partSize\":100000", with: "\"partSize\":\(size)")
            #expect(damaged != text)
            try Data(damaged.utf8).write(to: journal)
            try await harness.upload()
            #expect(harness.storage.current.begun == 2)
            try harness.expectFile()
        }
    }

    /// A storage that signs learns of its wrong clock when it asks for something.
    @Test
    func asksForThePartsWhenASignatureIsRefused() async throws {
        try await run { harness async throws in
            let storage = harness.storage
            storage.change {
                $0.interception = { _ in storage.current.listed == 0 ? .init(status: .forbidden) : nil }
            }
            try await harness.upload()
            try harness.expectFile()
        }
    }

    @Test
    func isNotDisturbedByAnotherOneOfTheSameFile() async throws {
        try await run { harness async throws in
            try await UploadJournal.with(for: harness.folder("1.bin")) { _ in
                let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
                #expect(error?.code == .inProgress)
            }
            try await harness.upload()
            try harness.expectFile()
        }
    }

    @Test
    func needsTheTagAndTheDigestOfWhatItSent() async throws {
        try await run { harness async throws in
            harness.storage.change { $0.interception = { _ in .init() } }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.code == .unexpectedResponse)
            harness.storage.change {
                $0.interception = { _ in
                    let other = Data(repeating: 1, count: 32).base64EncodedString()
                    return .init(headers: ["ETag": "\"a\"", "x-amz-checksum-sha256": other])
                }
            }
            let damage = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(damage?.code == .digestMismatch)
            #expect(damage?.isRetriable == true)
        }
    }

    @Test
    func cancellationEndsIt() async throws {
        try await run { harness async throws in
            let gate = StorageServer.Gate()
            let arrived = AsyncStream<Void>.makeStream()
            harness.storage.change {
                $0.interception = { _ in
                    arrived.continuation.yield()
                    return .init(
                        headers: ["ETag": "\"a\""],
                        body: .init(bytes: Data([1])),
                        end: .held(after: 0, until: gate)
                    )
                }
            }
            let upload = Task { try await harness.upload() }
            for await _ in arrived.stream { break }
            upload.cancel()
            await #expect(throws: CancellationError.self) { try await upload.value }
            gate.open()
            #expect(harness.storage.current.files.isEmpty)
        }
    }

    /// Over a link that is cut five times, each cut costs at most one part of each lane.
    ///
    /// As with 200 MiB and parts of 5 MiB; `POWERSYNC_LARGE_FILE_MIB` says how large the file is.
    @Test
    func isNotSentAgainWhereTheLinkIsCut() async throws {
        // libcurl sends by itself again what was on a connection that it had used before, and hangs, for it cannot begin at its beginning.
        guard HTTPStack.current == .nio else { return }
        let size = (ProcessInfo.processInfo.environment["POWERSYNC_LARGE_FILE_MIB"].flatMap(Int.init) ?? 10) << 20
        let content = Data.pattern(size)
        try await run(content) { harness async throws in
            var harness = harness
            harness.partSize = size / 40
            let distances = [11, 23, 31, 43, 53].map { size / 200 * $0 }
            let proxy = try await CuttingProxy(to: harness.server.port, cuttingAfter: distances)
            harness.storage.change { $0.url = proxy.url }
            try await untilItIsThere { try await harness.upload() }
            #expect(proxy.remainingCuts == 0)
            print("sent of \(size >> 20) MiB in parts of \(harness.partSize), cut five times: \(proxy.sentBytes)")
            let overhead = 64 * 1024
            #expect(proxy.sentBytes < size + 5 * 2 * harness.partSize + overhead, "\(proxy.sentBytes)")
            try harness.expectFile(content)
            try await proxy.stop()
        }
    }
}
