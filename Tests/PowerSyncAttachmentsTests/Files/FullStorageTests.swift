import Foundation
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

#if canImport(Glibc)
import Glibc

/// What happens when the system refuses to write.
@Suite(.serialized, .timeLimit(.minutes(1))) struct FullStorageTests {
    private let storage = FileManagerStorageAdapter()

    /// Runs a test on a volume of one megabyte.
    ///
    /// Only the superuser may make one; others get `nil`.
    private static func withSmallVolume(_ body: (AttachmentsFolder) async throws -> Void) async throws -> Void? {
        try await AttachmentsFolder.run { folder -> Void? in
            guard mount("tmpfs", folder.path, "tmpfs", 0, "size=1m") == 0 else { return nil }
            defer { umount2(folder.path, CInt(MNT_DETACH)) }
            try await body(folder)
            return ()
        }
    }

    private static let canMakeVolumes: Bool = {
        let path = NSTemporaryDirectory() + "/powersync-\(UUID().uuidString)"
        guard mkdir(path, 0o700) == 0 else { return false }
        defer { rmdir(path) }
        guard mount("tmpfs", path, "tmpfs", 0, "size=1m") == 0 else { return false }
        umount2(path, CInt(MNT_DETACH))
        return true
    }()

    @Test(
        .enabled(if: canMakeVolumes)
    )
    func becauseItIsFullGivesAnErrorThatSaysSoAndKeepsOldFilesWhole() async throws {
        let result: Void? = try await FullStorageTests.withSmallVolume { folder async throws in
            try await storage.saveFile(filePath: folder("a"), data: .pattern(100_000))
            let saves: [() async throws -> Void] = [
                { try await storage.saveFile(filePath: folder("a"), data: .pattern(2_000_000)) },
                {
                    try await storage.saveFile(
                        filePath: folder("b"),
                        chunks: AttachmentChunks(Chunks(sizes: [500_000, 500_000, 500_000]))
                    )
                },
                {
                    try await AttachmentsFolder.run { other in
                        try other.write(.pattern(2_000_000), to: "big")
                        try await storage.moveFile(sourcePath: other("big"), targetPath: folder("c"))
                    }
                },
            ]
            for save in saves {
                let error = await #expect(throws: PowerSyncAttachmentError.self) { try await save() }
                #expect(error?.isDiskFull == true)
                #expect(error?.isPermissionDenied == false)
                #expect(try folder.names == ["a"])
            }
            #expect(try folder.read("a") == .pattern(100_000))
            // The room of the failed attempts is free again.
            try await storage.saveFile(filePath: folder("d"), data: .pattern(500_000))
        }
        #expect(result != nil)
    }

    @Test(.enabled(if: canMakeVolumes))
    func hasTheRoomOfAFileThatWasGivenUpAtOnceWhoeverStillRefersToIt() async throws {
        let result: Void? = try await FullStorageTests.withSmallVolume { folder async throws in
            let file = try TemporaryFile(for: folder("a"))
            try file.write(.pattern(900_000))
            file.discard()
            try await storage.saveFile(filePath: folder("b"), data: .pattern(500_000))
            #expect(throws: PowerSyncAttachmentError.self) { try file.write(.pattern(1)) }
        }
        #expect(result != nil)
    }

    @Test(.enabled(if: canMakeVolumes))
    func downloadThatItHasNoRoomForKeepsWhatThereIsAndWritesNothing() async throws {
        let result: Void? = try await FullStorageTests.withSmallVolume { folder async throws in
            try await StorageServer.run { request in
                StorageServer.serve(.init(pattern: request.uri == "/large" ? 3_000_000 : 900_000), to: request)
            } _: { server async throws in
                let base = server.url
                let resolve: @Sendable (String) throws -> AttachmentHTTPRequest = { id in
                    AttachmentHTTPRequest(url: try #require(URL(string: "\(base)/\(id)")))
                }
                let transport = HTTPAttachmentTransport(
                    resolveUpload: { try resolve($0.attachment.id) },
                    resolveDownload: { try resolve($0.attachment.id) },
                    resolveDelete: { try resolve($0.id) }
                )
                let names = ["a.download.pstmp", "a.download.pstmp.state.pstmp"]
                func located(_ id: String) -> LocatedAttachment {
                    LocatedAttachment(
                        attachment: Attachment(id: id, filename: "a", state: .queuedDownload),
                        localPath: folder(names[0])
                    )
                }
                func expectFullDisk() async {
                    let steps = TransferSteps()
                    let error = await #expect(throws: PowerSyncAttachmentError.self) {
                        try await transport.download(located("large"), progress: steps.add)
                    }
                    #expect(error?.isDiskFull == true)
                    #expect(steps.all.isEmpty)
                }
                await expectFullDisk()
                #expect(try folder.names == [])

                try folder.write(.pattern(500_000), to: names[0])
                let record = Data(#"{"bytes":500000,"etag":"\"v1\"","total":3000000}"#.utf8)
                try folder.write(record, to: names[1])
                await expectFullDisk()
                #expect(server.received.last?.header("Range") == "bytes=500000-")
                #expect(try folder.read(names[0]) == .pattern(500_000))
                #expect(try folder.read(names[1]) == record)

                // What is replaced makes room.
                try OpenFile.remove(folder(names[1]))
                try await transport.download(located("small")) { _, _ in }
                #expect(try folder.read(names[0]).count == 900_000)
            }
        }
        #expect(result != nil)
    }

    @Test
    func halfWayAsWhenALimitIsReachedLeavesNothing() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(Data("old".utf8), to: "a")
            var before = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before)
            let handler = signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 1_000_000, rlim_max: before.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            defer {
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &before)
                signal(SIGXFSZ, handler)
            }
            let error = await #expect(throws: PowerSyncAttachmentError.self) {
                try await storage.saveFile(filePath: folder("a"), data: .pattern(1_500_000))
            }
            guard case .ioError(let cause as POSIXError)? = error else {
                Issue.record("not an I/O error: \(String(describing: error))")
                return
            }
            #expect(cause.code == .EFBIG)
            #expect(try folder.read("a") == Data("old".utf8))
            #expect(try folder.names == ["a"])
        }
    }

    /// A directory in which nobody may create anything, not even the superuser.
    private static let closedDirectory = "/sys/kernel"

    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: closedDirectory))
    )
    func becauseItMustNotBeWrittenGivesAnErrorThatSaysSo() async throws {
        let path = FullStorageTests.closedDirectory
        let writes: [() async throws -> Void] = [
            { try await storage.saveFile(filePath: "\(path)/a", data: Data("x".utf8)) },
            { try await storage.saveFile(filePath: "\(path)/new/a", data: Data("x".utf8)) },
            { try await storage.makeDir(path: "\(path)/new") },
        ]
        for write in writes {
            let error = await #expect(throws: PowerSyncAttachmentError.self) { try await write() }
            #expect(error?.isPermissionDenied == true, "\(String(describing: error))")
            #expect(error?.isDiskFull == false)
        }
    }
}
#endif
