import Foundation
import PowerSync
import PowerSyncTesting
import Testing

/// The storages in memory.
@Suite(.timeLimit(.minutes(1))) struct InMemoryStorageTests {
    private let remote = InMemoryRemoteStorage(files: ["1": Data("one".utf8), "2": Data("two".utf8)])

    private func attachment(_ id: String) -> Attachment {
        Attachment(id: id, filename: id, state: .queuedDownload)
    }

    @Test
    func failAsOftenAsTheyAreToldForTheFilesThatAreNamed() async throws {
        remote.fail(.download, id: "1", with: CocoaError(.fileReadUnknown), times: 2)
        for _ in 0..<2 {
            await #expect(throws: CocoaError.self) { try await remote.downloadFile(attachment: attachment("1")) }
        }
        #expect(try await remote.downloadFile(attachment: attachment("1")) == Data("one".utf8))
        #expect(try await remote.downloadFile(attachment: attachment("2")) == Data("two".utf8))

        remote.fail(.delete, with: CocoaError(.fileReadUnknown))
        for _ in 0..<3 {
            await #expect(throws: CocoaError.self) { try await remote.deleteFile(attachment: attachment("1")) }
        }
        remote.stopFailing()
        try await remote.deleteFile(attachment: attachment("1"))
        await #expect(throws: AttachmentStorageError.notFound) {
            try await remote.deleteFile(attachment: attachment("1"))
        }
        await #expect(throws: AttachmentStorageError.notFound) {
            try await remote.downloadFile(attachment: attachment("1"))
        }
    }

    @Test
    func holdWhatTheyAreToldAndLetItGoOneByOneOrAllAtOnce() async throws {
        let gate = remote.hold(.download)
        let downloads = (1...2).map { id in
            Task { [remote] in
                try await remote.downloadFile(
                    attachment: Attachment(id: "\(id)", filename: "\(id)", state: .queuedDownload)
                )
            }
        }
        try await gate.waitForArrivals(2)
        #expect(Set(gate.arrivals) == ["1", "2"])
        #expect(remote.mostConcurrentCalls == 2)
        gate.letOnePass()
        gate.open()
        #expect(try await downloads[0].value == Data("one".utf8))
        #expect(try await downloads[1].value == Data("two".utf8))
        #expect(try await remote.downloadFile(attachment: attachment("1")) == Data("one".utf8))
        try await remote.waitForCalls(3, of: .download)
    }

    @Test
    func endWhatIsHeldWhenItsTaskIsCancelledIfTheyAreNotToldToIgnoreThat() async throws {
        let gate = remote.hold(.upload)
        let upload = Task { [remote] in
            try await remote.uploadFile(
                fileData: Data(),
                attachment: Attachment(id: "3", filename: "3", state: .queuedUpload)
            )
        }
        try await gate.waitForArrivals(1)
        upload.cancel()
        await #expect(throws: CancellationError.self) { try await upload.value }
        #expect(remote["3"] == nil)

        let stubborn = remote.hold(.download, ignoringCancellation: true)
        let download = Task { [remote] in
            try await remote.downloadFile(attachment: Attachment(id: "1", filename: "1", state: .queuedDownload))
        }
        try await stubborn.waitForArrivals(1)
        download.cancel()
        stubborn.open()
        #expect(try await download.value == Data("one".utf8))
    }

    @Test
    func takeDifferentSpellingsOfAPathForOne() async throws {
        let local = InMemoryLocalStorage(files: ["/a//b/./c": Data("x".utf8)])
        #expect(local["/a/b/d/../c"] == Data("x".utf8))
        local.fail(.read, path: "/a/b//c", with: CocoaError(.fileReadUnknown), times: 1)
        await #expect(throws: CocoaError.self) { try await local.readFile(filePath: "/a/b/c") }
        #expect(try await local.readFile(filePath: "/a/./b/c") == Data("x".utf8))
        #expect(local.calls == [.init(.read, path: "/a/b/c"), .init(.read, path: "/a/b/c")])
    }
}
