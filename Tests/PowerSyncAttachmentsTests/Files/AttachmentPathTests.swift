import Foundation
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite struct AttachmentPathTests {
    private static let longest = String(repeating: "x", count: 255)

    @Test(
        arguments: [
            "a", "1.jpg", "docs/a.pdf", "a/b/c/d.txt", "...", "..a", "a..", ".hidden", "12:30 ein Bild ü 😀.jpg", "a\\b",
            "~", "a:b?*",
            longest, "\(longest)/\(longest)", "pstmp", "a.pstmp.jpg",
        ]
    )
    func namesOfFilesAreAccepted(name: String) throws {
        try AttachmentPath.check(filename: name)
    }

    @Test(
        arguments: [
            "", "/", "/etc/passwd", "../../etc/passwd", "..", ".", "a/../../b", "a/..", "./a", "a/./b", "a//b", "a/",
            "//a",
            "a\0b", "\0", String(repeating: "x", count: 300), String(repeating: "x", count: 4096),
            String(repeating: "😀", count: 64), "a/\(String(repeating: "x", count: 256))/b", "a.pstmp", "a/b.PSTMP",
        ]
    )
    func namesThatLeadElsewhereOrCannotBeNamesAreRefused(name: String) {
        expectInvalidPath { try AttachmentPath.check(filename: name) }
    }

    @Test(
        arguments: ["../../x", "a/b", "/", "..", "a\\b", "a\0", "\0"]
    )
    func extensionsWithSeparatorsOrNULAreRefused(fileExtension: String) {
        expectInvalidPath { try AttachmentPath.check(fileExtension: fileExtension) }
    }

    @Test(arguments: ["jpg", "tar.gz", "", "j p g", "😀", "...", "."])
    func otherExtensionsAreAccepted(fileExtension: String) throws {
        try AttachmentPath.check(fileExtension: fileExtension)
    }

    @Test
    func symbolicLinksAreResolvedBeforeAPathIsCompared() async throws {
        try await AttachmentsFolder.run { folder async throws in
            try folder.makeDirectory("in/sub")
            try folder.makeDirectory("out")
            try folder.write(Data("secret".utf8), to: "out/secret")
            try folder.link("in/out", to: folder("out"))
            try folder.link("in/relative", to: "../out")
            try folder.link("in/secret", to: folder("out/secret"))
            try folder.link("in/nowhere", to: folder("missing"))
            try folder.link("in/circle", to: "circle")
            try folder.link("in/home", to: "sub")
            try folder.link("alias", to: "in")

            for name in ["a", "sub/a", "sub/x/y/z", "home/a", "a/../b"] {
                try AttachmentPath.check(path: folder("in/\(name)"), inside: folder("in"))
                try AttachmentPath.check(path: folder("alias/\(name)"), inside: folder("in"))
                try AttachmentPath.check(path: folder("in/\(name)"), inside: folder("alias/"))
            }
            for name in [
                "out/a", "relative/a", "secret", "nowhere", "circle/a", "..", "../out/secret", "sub/../../a", "", ".",
            ] {
                expectInvalidPath { try AttachmentPath.check(path: folder("in/\(name)"), inside: folder("in")) }
            }
            // A slash and a combining character are one `Character`, and two components.
            expectInvalidPath { try AttachmentPath.check(path: folder("in/out/\u{301}a"), inside: folder("in")) }
            try AttachmentPath.check(path: folder("in/home/\u{301}a"), inside: folder("in"))
            // A name that begins like the directory's is beside it.
            expectInvalidPath { try AttachmentPath.check(path: folder("in2/a"), inside: folder("in")) }
            expectInvalidPath { try AttachmentPath.check(path: "in/a", inside: folder("in")) }
            expectInvalidPath { try AttachmentPath.check(path: folder("in/a\0b"), inside: folder("in")) }
        }
    }

    @Test
    func nothingNeedsToExistForAPathToBeCompared() throws {
        try AttachmentPath.check(path: "/no/such/place/a", inside: "/no/such/place")
        try AttachmentPath.check(path: "/a", inside: "/")
        expectInvalidPath { try AttachmentPath.check(path: "/no/such/a", inside: "/no/such/place") }
        expectInvalidPath { try AttachmentPath.check(path: "/no/such/place", inside: "/no/such/place") }
    }

    @Test
    func unfinishedFilesGetNamesBesideTheirTargetsThatFileSystemsAccept() {
        #expect(AttachmentPath.downloadPath(for: "/d/a.jpg") == "/d/a.jpg.download.pstmp")
        #expect(
            AttachmentPath.downloadFiles(for: "/d/a.jpg") == [
                "/d/a.jpg.download.pstmp", "/d/a.jpg.download.pstmp.state.pstmp",
            ]
        )
        let names = ["x", "😀"].map { String(repeating: $0, count: 255 / $0.utf8.count) }
        for name in names {
            let paths = AttachmentPath.downloadFiles(for: "/d/\(name)")
            let other = AttachmentPath.downloadFiles(for: "/d/\(name.dropLast())y")
            #expect(paths == AttachmentPath.downloadFiles(for: "/d/\(name)"))
            #expect(Set(paths).isDisjoint(with: other))
            #expect(paths.allSatisfy { AttachmentPath.isKeptForLater($0) })
            #expect(!AttachmentPath.isKeptForLater(AttachmentPath.temporaryPath(for: paths[1], tag: "1f")))
            for path in paths {
                #expect(path.hasPrefix("/d/") && path.hasSuffix(".pstmp"))
                #expect(path.dropFirst("/d/".count).utf8.count <= 255)
            }
        }
    }
}

/// Expects that a name or path is refused.
func expectInvalidPath(
    _ body: () async throws -> Void,
    sourceLocation: SourceLocation = #_sourceLocation
) async {
    let error = await #expect(throws: PowerSyncAttachmentError.self, sourceLocation: sourceLocation) {
        try await body()
    }
    guard case .invalidPath? = error else {
        Issue.record("expected an invalid path, not \(String(describing: error))", sourceLocation: sourceLocation)
        return
    }
}

/// Expects that a name or path is refused.
func expectInvalidPath(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
    let error = #expect(throws: PowerSyncAttachmentError.self, sourceLocation: sourceLocation) { try body() }
    guard case .invalidPath? = error else {
        Issue.record("expected an invalid path, not \(String(describing: error))", sourceLocation: sourceLocation)
        return
    }
}
