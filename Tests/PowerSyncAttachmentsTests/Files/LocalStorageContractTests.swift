import Foundation
import PowerSync
import PowerSyncTesting
import TestSupport
import Testing

/// What every local storage does, for each that comes with the SDK.
@Suite(.timeLimit(.minutes(1))) struct LocalStorageContractTests {
    enum Storage: CaseIterable {
        case files, confinedFiles, encryptedFiles, memory

        func run(_ body: (any LocalStorageAdapter, AttachmentsFolder) async throws -> Void) async throws {
            try await AttachmentsFolder.run { folder async throws in
                switch self {
                case .files: try await body(FileManagerStorageAdapter(), folder)
                case .confinedFiles: try await body(FileManagerStorageAdapter(directory: folder.path), folder)
                case .encryptedFiles:
                    let key = Data(repeating: 7, count: 32)
                    try await body(EncryptedStorageAdapter(directory: folder.path) { key }, folder)
                case .memory: try await body(InMemoryLocalStorage(), folder)
                }
            }
        }

        /// With a large file `a`, and a small one in the place that it gets.
        func runWithTwoFiles(_ body: (any LocalStorageAdapter, AttachmentsFolder) async throws -> Void) async throws {
            try await run { storage, folder async throws in
                _ = try await storage.saveFile(filePath: folder("a"), data: .pattern(400_000))
                _ = try await storage.saveFile(filePath: folder("x/b"), data: Data("old".utf8))
                try await body(storage, folder)
            }
        }
    }

    private func expectFileNotFound(_ path: String, _ body: () async throws -> Void) async {
        let error = await #expect(throws: PowerSyncAttachmentError.self) { try await body() }
        guard case .fileNotFound(path)? = error else {
            Issue.record("expected a missing file, not \(String(describing: error))")
            return
        }
    }

    @Test(arguments: Storage.allCases, [0, 1, 300_000])
    func givesBackWhatWasSavedAlsoOfAnEmptyFile(storage: Storage, size: Int) async throws {
        try await storage.run { storage, folder async throws in
            let path = folder("a/b/c.bin")
            #expect(try await !storage.fileExists(filePath: path))
            #expect(try await storage.fileSize(filePath: path) == nil)
            #expect(try await storage.saveFile(filePath: path, data: .pattern(size)) == Int64(size))
            #expect(try await storage.readFile(filePath: path) == .pattern(size))
            #expect(try await storage.fileExists(filePath: path))
            #expect(try await storage.fileSize(filePath: path) == Int64(size))
        }
    }

    @Test(arguments: Storage.allCases)
    func replacesFiles(storage: Storage) async throws {
        try await storage.run { storage, folder async throws in
            _ = try await storage.saveFile(filePath: folder("a"), data: .pattern(1000))
            _ = try await storage.saveFile(filePath: folder("a"), data: Data("new".utf8))
            #expect(try await storage.readFile(filePath: folder("a")) == Data("new".utf8))
        }
    }

    @Test(arguments: Storage.allCases)
    func savesChunksAndNothingWhenTheyEndWithAnError(storage: Storage) async throws {
        try await storage.run { storage, folder async throws in
            let sizes = [0, 1, 100_000, 256 * 1024, 700_000]
            let size = try await storage.saveFile(filePath: folder("a"), chunks: AttachmentChunks(Chunks(sizes: sizes)))
            #expect(size == Int64(sizes.reduce(0, +)))
            #expect(try await storage.readFile(filePath: folder("a")) == Chunks(sizes: sizes).data)

            await #expect(throws: CocoaError.self) {
                try await storage.saveFile(
                    filePath: folder("a"),
                    chunks: AttachmentChunks(Chunks(sizes: sizes, error: CocoaError(.fileReadCorruptFile)))
                )
            }
            #expect(try await storage.readFile(filePath: folder("a")) == Chunks(sizes: sizes).data)
        }
    }

    @Test(arguments: Storage.allCases)
    func reportsMissingFiles(storage: Storage) async throws {
        try await storage.run { storage, folder async throws in
            let (path, target) = (folder("missing"), folder("target"))
            await expectFileNotFound(path) { _ = try await storage.readFile(filePath: path) }
            await expectFileNotFound(path) { try await storage.copyFile(sourcePath: path, targetPath: target) }
            await expectFileNotFound(path) { try await storage.moveFile(sourcePath: path, targetPath: target) }
            #expect(try await !storage.fileExists(filePath: target))
            try await storage.deleteFile(filePath: path)
            try await storage.rmDir(path: folder("no/such/directory"))
            #expect(try await storage.files(path: folder("no"), notChangedSince: .distantFuture) == [])
            try await storage.removeTemporaryFiles(path: folder("no"), olderThan: .distantFuture)
        }
    }

    @Test(arguments: Storage.allCases)
    func copiesAndMovesOverExistingFilesWithTheDirectoriesAbove(storage: Storage) async throws {
        try await storage.runWithTwoFiles { storage, folder async throws in
            try await storage.copyFile(sourcePath: folder("a"), targetPath: folder("x/b"))
            #expect(try await storage.readFile(filePath: folder("x/b")) == .pattern(400_000))
            #expect(try await storage.readFile(filePath: folder("a")) == .pattern(400_000))

            try await storage.moveFile(sourcePath: folder("x/b"), targetPath: folder("y/z/c"))
            #expect(try await !storage.fileExists(filePath: folder("x/b")))
            #expect(try await storage.readFile(filePath: folder("y/z/c")) == .pattern(400_000))

            try await storage.moveFile(sourcePath: folder("a"), targetPath: folder("a"))
            try await storage.copyFile(sourcePath: folder("a"), targetPath: folder("a"))
            #expect(try await storage.readFile(filePath: folder("a")) == .pattern(400_000))
        }
    }

    @Test(arguments: Storage.allCases)
    func givesAFileASecondPathAndRemovesTheFirstOneLater(storage: Storage) async throws {
        try await storage.runWithTwoFiles { storage, folder async throws in
            try await storage.linkFile(sourcePath: folder("a"), targetPath: folder("x/b"))
            #expect(try await storage.readFile(filePath: folder("a")) == .pattern(400_000))
            #expect(try await storage.readFile(filePath: folder("x/b")) == .pattern(400_000))
            // Again, as after a crash.
            try await storage.linkFile(sourcePath: folder("a"), targetPath: folder("x/b"))
            try await storage.linkFile(sourcePath: folder("a"), targetPath: folder("a"))
            #expect(
                try await Set(storage.files(path: folder.path, notChangedSince: .distantFuture)) == [
                    folder("a"), folder("x/b"),
                ]
            )
            for _ in 0..<2 { try await storage.removeSource(sourcePath: folder("a")) }
            #expect(try await !storage.fileExists(filePath: folder("a")))
            #expect(try await storage.readFile(filePath: folder("x/b")) == .pattern(400_000))
            await expectFileNotFound(folder("a")) {
                try await storage.linkFile(sourcePath: folder("a"), targetPath: folder("y"))
            }
        }
    }

    /// Where the content of a new file comes from.
    enum NewContent: CaseIterable {
        case data, chunks, copy, link, move

        func content(of source: String) -> AttachmentFileContent {
            switch self {
            case .data: .data(.pattern(400_000))
            case .chunks: .chunks(AttachmentChunks(Chunks(sizes: [400_000])))
            case .copy: .copy(of: source)
            case .link: .link(to: source)
            case .move: .move(from: source)
            }
        }
    }

    @Test(arguments: Storage.allCases, NewContent.allCases)
    func createsAFileAtTheFirstFreePath(storage: Storage, new: NewContent) async throws {
        try await storage.runWithTwoFiles { storage, folder async throws in
            let paths = ["x/b", "x/c", "x/d"].map { folder($0) }
            let created = try await storage.createFile(new.content(of: folder("a")), atFirstFreeOf: paths)
            #expect(created == CreatedAttachmentFile(path: folder("x/c"), size: 400_000))
            #expect(try await storage.readFile(filePath: folder("x/c")) == .pattern(400_000))
            #expect(try await storage.readFile(filePath: folder("x/b")) == Data("old".utf8))
            #expect(try await storage.fileExists(filePath: folder("a")) == (new != .move))

            // Into a directory that is not there.
            let free = [folder("y/z/1")]
            let source = new == .move ? folder("x/c") : folder("a")
            #expect(try await storage.createFile(new.content(of: source), atFirstFreeOf: free)?.path == free[0])

            // Nothing changes without a free path.
            let again = new == .move ? folder("y/z/1") : folder("a")
            let taken = [folder("x/b"), folder("y/z/1")]
            #expect(try await storage.createFile(new.content(of: again), atFirstFreeOf: taken) == nil)
            #expect(try await storage.createFile(new.content(of: again), atFirstFreeOf: []) == nil)
            #expect(try await storage.readFile(filePath: folder("x/b")) == Data("old".utf8))
            #expect(try await storage.readFile(filePath: folder("y/z/1")) == .pattern(400_000))
            let files = try await storage.files(path: folder.path, notChangedSince: .distantFuture)
            #expect(!files.contains { $0.hasSuffix(".pstmp") })
        }
    }

    @Test(arguments: Storage.allCases, NewContent.allCases)
    func createsNoFileWhenItsContentFails(storage: Storage, new: NewContent) async throws {
        guard new != .data else { return }
        try await storage.runWithTwoFiles { storage, folder async throws in
            let broken = Chunks(sizes: [300_000], error: CocoaError(.fileReadCorruptFile))
            let content = new == .chunks ? .chunks(AttachmentChunks(broken)) : new.content(of: folder("missing"))
            await #expect(throws: (any Error).self) {
                try await storage.createFile(content, atFirstFreeOf: [folder("x/b"), folder("x/c")])
            }
            let files = try await storage.files(path: folder.path, notChangedSince: .distantFuture)
            #expect(Set(files) == [folder("a"), folder("x/b")])
        }
    }

    @Test(arguments: Storage.allCases)
    func removesFilesAndDirectories(storage: Storage) async throws {
        try await storage.run { storage, folder async throws in
            for name in ["d/1", "d/e/2", "dx"] { _ = try await storage.saveFile(filePath: folder(name), data: Data()) }
            try await storage.makeDir(path: folder("d/f"))
            try await storage.makeDir(path: folder("d/f"))
            #expect(
                try await Set(storage.files(path: folder("d"), notChangedSince: .distantFuture)) == [
                    folder("d/1"), folder("d/e/2"),
                ]
            )
            #expect(try await storage.files(path: folder("d"), notChangedSince: Date(timeIntervalSince1970: 0)) == [])
            try await storage.rmDir(path: folder("d"))
            #expect(try await !storage.fileExists(filePath: folder("d/1")))
            #expect(try await !storage.fileExists(filePath: folder("d/e/2")))
            #expect(try await storage.fileExists(filePath: folder("dx")))
            try await storage.deleteFile(filePath: folder("dx"))
            #expect(try await !storage.fileExists(filePath: folder("dx")))
        }
    }

    @Test(
        arguments: Storage.allCases
    )
    func keepsNamesInAnyScriptApartAlsoWhenTheyDifferInCaseOnly(storage: Storage) async throws {
        let names = ["ein Bild ü.jpg", "😀/👩‍👩‍👧.jpg", "文件.txt", "a b+c%20&=.bin", "photo.JPG", "new\nline", "-rf"]
        try await storage.run { storage, folder async throws in
            for name in names { _ = try await storage.saveFile(filePath: folder(name), data: Data(name.utf8)) }
            for name in names { #expect(try await storage.readFile(filePath: folder(name)) == Data(name.utf8)) }
            // On a volume that ignores case these are one file; then the first content must not be taken for the second's.
            _ = try await storage.saveFile(filePath: folder("photo.jpg"), data: Data("second".utf8))
            #expect(try await storage.readFile(filePath: folder("photo.jpg")) == Data("second".utf8))
        }
    }
}

/// Chunks of given sizes, and then perhaps an error.
struct Chunks: AsyncSequence, Sendable {
    typealias Element = Data
    typealias Failure = any Error

    var sizes: [Int]
    var error: (any Error)?

    var data: Data { sizes.reduce(into: Data()) { $0 += Data.pattern($1) } }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    struct Iterator: AsyncIteratorProtocol {
        let chunks: Chunks
        var index = 0

        mutating func next() async throws -> Data? {
            guard index < chunks.sizes.count else {
                if let error = chunks.error { throw error }
                return nil
            }
            defer { index += 1 }
            return .pattern(chunks.sizes[index])
        }
    }
}
