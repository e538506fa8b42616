import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Files that are encrypted on this device; what all storages do is in `LocalStorageContractTests`.
@Suite(.timeLimit(.minutes(1))) struct EncryptedStorageTests {
    private static let key = Data((0..<32).map { UInt8($0) })
    private static let otherKey = Data(repeating: 9, count: 32)
    private static let chunk = EncryptedFileFormat.chunkSize
    /// How many bytes a whole chunk has in the file.
    private static let stride = chunk + EncryptedFileFormat.tagSize
    /// Text that is found again in a file that is not encrypted.
    private static let secret = Data("the secret of the file ".utf8)

    private let storage = EncryptedStorageAdapter { key }

    private static func content(_ size: Int) -> Data {
        var data = Data(capacity: size)
        while data.count < size { data += secret.prefix(size - data.count) }
        return data
    }

    /// Expects that reading a file fails, at once or in its course.
    private func expectError(
        _ code: AttachmentEncryptionError.Code,
        _ path: String,
        by storage: EncryptedStorageAdapter? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: AttachmentEncryptionError.self, sourceLocation: sourceLocation) {
            _ = try await (storage ?? self.storage).readFile(filePath: path)
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    @Test(arguments: [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk - 1, 3 * chunk, 3 * chunk + 1])
    func givesBackFilesOfAllSizes(size: Int) async throws {
        try await AttachmentsFolder.run { folder async throws in
            let content = Data.pattern(size)
            #expect(try await storage.saveFile(filePath: folder("a"), data: content) == Int64(size))
            #expect(try await storage.readFile(filePath: folder("a")) == content)
            #expect(try await storage.fileSize(filePath: folder("a")) == Int64(size))
            #expect(try await storage.contentDigest(folder("a")) == content.sha256)
            let file = try EncryptedFile(folder("a"), key: EncryptedStorageTests.key)
            for (offset, count) in [(0, 1), (1, 100), (size / 2, 70_000), (max(0, size - 1), 5), (size, 5)] {
                let expected = content.dropFirst(offset).prefix(count)
                #expect(try file.read(at: Int64(offset), upTo: count) == Data(expected))
            }
        }
    }

    /// A piece may be a whole file, of which there is no second one in memory.
    @Test(arguments: [chunk, 3 * chunk, 3 * chunk + 1])
    func encryptsOneChunkAtATime(size: Int) async throws {
        let piece = AsyncStream<Data> { continuation in
            continuation.yield(.pattern(size))
            continuation.finish()
        }
        let encrypted = AttachmentChunks(encrypting: AttachmentChunks(piece), with: EncryptedStorageTests.key)
        var sizes: [Int] = []
        for try await chunk in encrypted { sizes.append(chunk.count) }
        let (stride, rest) = (EncryptedStorageTests.stride, (size - 1) % EncryptedStorageTests.chunk + 1)
        let whole = Array(repeating: stride, count: (size - 1) / EncryptedStorageTests.chunk)
        #expect(Array(sizes.dropFirst()) == whole + [rest + EncryptedFileFormat.tagSize])
    }

    @Test
    func leavesNothingReadableOnTheDiskHoweverAFileIsSaved() async throws {
        try await AttachmentsFolder.run { folder async throws in
            let content = EncryptedStorageTests.content(200_000)
            try await storage.saveFile(filePath: folder("1"), data: content)
            try await storage.saveFile(filePath: folder("2"), chunks: AttachmentChunks(Pieces(of: content)))
            for (name, make) in [
                ("3", { AttachmentFileContent.copy(of: $0) }), ("4", { .link(to: $0) }), ("5", { .move(from: $0) }),
            ] as [(String, (String) -> AttachmentFileContent)] {
                try folder.write(content, to: "plain")
                let created = try await storage.createFile(make(folder("plain")), atFirstFreeOf: [folder(name)])
                #expect(created == CreatedAttachmentFile(path: folder(name), size: 200_000))
                #expect(try await storage.fileExists(filePath: folder("plain")) == (name != "5"))
            }
            for (name, call) in [
                ("6", storage.copyFile), ("7", storage.linkFile), ("8", storage.moveFile),
            ] as [(String, (String, String) async throws -> Void)] {
                try folder.write(content, to: "plain")
                try await call(folder("plain"), folder(name))
                #expect(try await storage.fileExists(filePath: folder("plain")) == (name != "8"))
            }
            #expect(try folder.names == (1...8).map { "\($0)" })
            for name in try folder.names {
                #expect(try await storage.readFile(filePath: folder(name)) == content)
                #expect(try folder.read(name).range(of: EncryptedStorageTests.secret.prefix(8)) == nil)
            }
            // Equal files do not look alike.
            #expect(try Set(folder.names.map { try folder.read($0) }).count == 8)
        }
    }

    /// What is done to an encrypted file of three and a half chunks.
    enum Damage: CaseIterable {
        case cutInChunk, cutAfterChunk, cutAfterHeader, cutInHeader, emptied, prolonged, repeatedChunk,
            repeatedLastChunk
        case exchangedChunks, missingChunk, chunkOfAnotherFile, otherSalt, changedBit, changedTag

        func apply(to file: Data, other: Data) -> Data {
            let (header, stride) = (EncryptedFileFormat.headerSize, EncryptedStorageTests.stride)
            func chunk(_ number: Int, of data: Data? = nil) -> Data {
                (data ?? file).dropFirst(header + number * stride).prefix(stride)
            }
            let start = file.prefix(header)
            var changed = file
            switch self {
            case .cutInChunk: return file.dropLast(100)
            case .cutAfterChunk: return file.prefix(header + 2 * stride)
            case .cutAfterHeader: return start
            case .cutInHeader: return file.prefix(20)
            case .emptied: return Data()
            case .prolonged: return file + Data(repeating: 0, count: 100)
            case .repeatedChunk: return start + chunk(0) + chunk(0) + chunk(2) + chunk(3)
            case .repeatedLastChunk: return start + chunk(0) + chunk(1) + chunk(2) + chunk(2) + chunk(3)
            case .exchangedChunks: return start + chunk(1) + chunk(0) + chunk(2) + chunk(3)
            case .missingChunk: return start + chunk(0) + chunk(2) + chunk(3)
            case .chunkOfAnotherFile: return start + chunk(0) + chunk(1, of: other) + chunk(2) + chunk(3)
            case .otherSalt: return other.prefix(header) + file.dropFirst(header)
            case .changedBit: changed[header + stride + 5] ^= 1
            case .changedTag: changed[changed.count - 1] ^= 128
            }
            return changed
        }

        var code: AttachmentEncryptionError.Code {
            switch self {
            case .cutInHeader, .emptied: .notEncrypted
            default: .damaged
            }
        }
    }

    @Test(arguments: Damage.allCases)
    func noticesDamage(damage: Damage) async throws {
        try await AttachmentsFolder.run { folder async throws in
            let content = EncryptedStorageTests.content(3 * EncryptedStorageTests.chunk + 30_000)
            for name in ["a", "b"] { try await storage.saveFile(filePath: folder(name), data: content) }
            let changed = damage.apply(to: try folder.read("a"), other: try folder.read("b"))
            try folder.write(Data(changed), to: "a")
            await expectError(damage.code, folder("a"))
        }
    }

    @Test
    func tellsAnotherKeyFromDamageAndFromAPlainFile() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try await storage.saveFile(filePath: folder("a"), data: .pattern(10))
            try folder.write(.pattern(100), to: "plain")
            await expectError(.wrongKey, folder("a"), by: EncryptedStorageAdapter { EncryptedStorageTests.otherKey })
            await expectError(.notEncrypted, folder("plain"))
            for size in [0, 31, 33] {
                let short = EncryptedStorageAdapter { Data(repeating: 1, count: size) }
                await expectError(.invalidKey, folder("a"), by: short)
                await #expect(throws: AttachmentEncryptionError.self) {
                    try await short.saveFile(filePath: folder("b"), data: Data())
                }
            }
            let locked = EncryptedStorageAdapter { throw CocoaError(.fileReadNoPermission) }
            await #expect(throws: CocoaError.self) { try await locked.readFile(filePath: folder("a")) }
            #expect(try folder.names == ["a", "plain"])
        }
    }

    @Test
    func encryptsWhatAnAppHadBefore() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("d")
            for name in ["1", "d/2"] { try folder.write(EncryptedStorageTests.content(100_000), to: name) }
            try folder.write(Data(), to: "3.download.pstmp")
            try await storage.saveFile(filePath: folder("4"), data: .pattern(5))
            #expect(try await storage.encryptFiles(in: folder.path) == 2)
            #expect(try await storage.encryptFiles(in: folder.path) == 0)
            for name in ["1", "d/2"] {
                #expect(try await storage.readFile(filePath: folder(name)) == EncryptedStorageTests.content(100_000))
            }
            #expect(try await storage.readFile(filePath: folder("4")) == .pattern(5))
            #expect(try folder.names == ["1", "3.download.pstmp", "4", "d", "d/2"])

            let other = EncryptedStorageAdapter { EncryptedStorageTests.otherKey }
            await #expect(throws: AttachmentEncryptionError.self) { try await other.encryptFiles(in: folder.path) }
        }
    }

    /// A process may end between any two files: so does the app's closure here.
    @Test(arguments: 0...9)
    func encryptingThatIsInterruptedIsContinued(calls: Int) async throws {
        try await AttachmentsFolder.run { folder async throws in
            let names = (0..<4).map { "\($0)" }
            for name in names { try folder.write(EncryptedStorageTests.content(70_000), to: name) }
            let left = NIOLockedValueBox(calls)
            let interrupted = EncryptedStorageAdapter {
                let mayGoOn = left.withLockedValue { left in
                    left -= 1
                    return left >= 0
                }
                guard mayGoOn else { throw CocoaError(.fileReadNoPermission) }
                return EncryptedStorageTests.key
            }
            let isComplete = (try? await interrupted.encryptFiles(in: folder.path)) != nil
            // Each file is what it was or what it is to be, and no part of another one is there.
            #expect(try folder.names == names)
            var plain = 0
            for name in names {
                if try folder.read(name) == EncryptedStorageTests.content(70_000) {
                    plain += 1
                } else {
                    #expect(try await storage.readFile(filePath: folder(name)) == EncryptedStorageTests.content(70_000))
                }
            }
            #expect(isComplete == (plain == 0))
            #expect(try await storage.encryptFiles(in: folder.path) == plain)
            for name in names {
                #expect(try folder.read(name).range(of: EncryptedStorageTests.secret) == nil)
            }
        }
    }

    /// A queue saves, uploads and downloads over it: the app and the remote storage see what is in the files.
    @Test
    func isTheStorageOfAQueue() async throws {
        try await AttachmentsFolder.run { folder async throws in
            let content = EncryptedStorageTests.content(150_000)
            let harness = QueueHarness(remote: InMemoryRemoteStorage(files: ["down.jpg": content]))
            let queue = harness.makeQueue(directory: folder.path, localStorage: storage)
            try await harness.closing(queue) {
                try await queue.startSync()
                let saved = try await queue.saveFile(data: content, mediaType: "image/jpeg", fileExtension: "jpg") {
                    transaction,
                    photo in
                    try transaction.execute(
                        sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)",
                        parameters: [photo.id]
                    )
                }
                #expect(saved.size == 150_000)
                try await harness.wait(for: saved.id, .synced)
                #expect(harness.remote[saved.filename] == content)
                try await harness.link("down")
                let row = try #require(try await harness.wait(for: "down", .synced))
                #expect(row.size == 150_000)
                let path = try #require(row.localUri)
                #expect(try await storage.readFile(filePath: path) == content)
                for name in try folder.names {
                    #expect(try folder.read(name).range(of: EncryptedStorageTests.secret) == nil)
                }
            }
        }
    }
}

/// Transports that stream decrypt what they upload.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct EncryptedUploadTests {
    private static let content = Data.pattern(450_001)
    private let storage = EncryptedStorageAdapter { Data(repeating: 3, count: 32) }

    private func located(_ folder: AttachmentsFolder) async throws -> LocatedAttachment {
        try await storage.saveFile(filePath: folder("1.bin"), data: EncryptedUploadTests.content)
        let attachment = Attachment(id: "1", filename: "1.bin", state: .queuedUpload, localUri: folder("1.bin"))
        var located = LocatedAttachment(attachment: attachment, localPath: folder("1.bin"))
        located.encryption = storage
        return located
    }

    @Test
    func asAWhole() async throws {
        try await TransferHarness.run(
            { _ in .init() },
            target: { AttachmentHTTPRequest(url: $0, digestHeader: .contentDigest) }
        ) { harness async throws in
            let located = try await located(harness.folder)
            try await harness.transport.upload(located) { _, _ in }
            let request = try #require(harness.server.received.first)
            #expect(request.size == 450_001 && request.digest == EncryptedUploadTests.content.sha256)
            #expect(request.headers["Content-Length"] == ["450001"])
            #expect(request.header("Content-Digest") == "sha-256=:\(request.digest.base64EncodedString()):")
            #expect(try await located.sha256() == request.digest)
        }
    }

    @Test
    func inParts() async throws {
        let model = ModelPartsStorage()
        try await AttachmentsFolder.run { folder async throws in
            try await StorageServer.run({ model.respond(to: $0) }) { server in
                model.change { $0.url = server.url }
                try await HTTPStack.current.withClient { client in
                    var options = AttachmentPartsOptions()
                    options.partSize = 100_000
                    let transport = MultipartAttachmentTransport(
                        storage: model,
                        base: RecordingTransport(),
                        options: options,
                        httpClient: client
                    )
                    try await transport.upload(located(folder)) { _, _ in }
                }
                let parts = try #require(model.current.files["1.bin"])
                #expect(parts.map(\.size) == [100_000, 100_000, 100_000, 100_000, 50_001])
                #expect(parts[4].digest == EncryptedUploadTests.content.suffix(50_001).sha256)
            }
        }
    }

    @Test
    func byTus() async throws {
        let model = ModelTusServer()
        try await AttachmentsFolder.run { folder async throws in
            try await StorageServer.run({ model.respond(to: $0) }) { server in
                try await HTTPStack.current.withClient { client in
                    let transport = TusAttachmentTransport(
                        endpoint: try #require(URL(string: server.url + "/files")),
                        base: RecordingTransport(),
                        httpClient: client
                    ) { [:] }
                    try await transport.upload(located(folder)) { _, _ in }
                }
                #expect(model.current.uploads.values.map(\.content) == [EncryptedUploadTests.content])
            }
        }
    }
}

/// A transport that streams writes what arrives as it is, and the adapter encrypts it when it is complete.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct EncryptedDownloadTests {
    private static let content = Data(repeating: UInt8(ascii: "s"), count: 450_001)
    private let storage = EncryptedStorageAdapter { Data(repeating: 3, count: 32) }

    @Test
    func onlyTheUnfinishedFileIsPlain() async throws {
        let isFirst = NIOLockedValueBox(true)
        try await TransferHarness.run { request in
            var response = StorageServer.serve(.init(bytes: Self.content), etag: "\"v1\"", to: request)
            let isFirst = isFirst.withLockedValue { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if isFirst { response.end = .closed(after: 200_000) }
            return response
        } _: { harness async throws in
            var located = LocatedAttachment(attachment: harness.attachment, localPath: harness.path)
            located.encryption = storage
            await #expect(throws: AttachmentTransferError.self) {
                try await harness.transport.download(located) { _, _ in }
            }
            #expect(try harness.folder.names == harness.partialNames)
            let part = try harness.downloaded()
            #expect(!part.isEmpty && part == Self.content.prefix(part.count))
            // It is no file of before: that was never complete.
            #expect(try await storage.encryptFiles(in: harness.folder.path) == 0)
            try await harness.transport.download(located) { _, _ in }
            let created = try await storage.createFile(
                .move(from: harness.path),
                atFirstFreeOf: [harness.folder("1.jpg")]
            )
            #expect(created?.size == Int64(Self.content.count))
            #expect(try harness.folder.names == ["1.jpg"])
            #expect(try harness.folder.read("1.jpg").range(of: Self.content.prefix(16)) == nil)
            #expect(try await storage.readFile(filePath: harness.folder("1.jpg")) == Self.content)
        }
    }
}

/// A file in pieces of no particular size.
private struct Pieces: AsyncSequence, Sendable {
    typealias Element = Data

    let content: Data

    init(of content: Data) {
        self.content = content
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: content) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: Data

        mutating func next() async -> Data? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(77_777) }
            return Data(rest.prefix(77_777))
        }
    }
}
