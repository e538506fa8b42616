import Foundation
import PowerSyncService
import TestSupport
import Testing

@testable import PowerSyncCLI

/// What `powersync dev` prints, and the files for it.
@Suite struct DevelopmentAnnouncementTests {
    private static let address = BoundAddress(host: "127.0.0.1", port: 8080)

    private static func announcement(
        in folder: String,
        port: Int = 8080,
        users: [String] = ["user-1", "user-2"],
        hasUpload: Bool = true
    ) -> DevelopmentAnnouncement {
        DevelopmentAnnouncement(
            address: BoundAddress(host: "127.0.0.1", port: port),
            dashboard: "http://127.0.0.1:8080/dashboard#key=k",
            seed: "seed.sql",
            users: users,
            files: DevelopmentFiles(beside: "\(folder)/data/source.db", workingFolder: folder),
            hasUpload: hasUpload
        )
    }

    @Test(arguments: [8080, 65535])
    func noRequestIsLongerThanALineOfATerminal(port: Int) {
        let lines = Self.announcement(in: "/home/anna/todos", port: port).lines
        #expect(lines.contains("  # the rows of user-1, as they come"))
        #expect(lines.contains("  curl -N -H @data/dev/user-1 -d '{}' http://127.0.0.1:\(port)/sync/stream"))
        #expect(lines.contains("  curl -H @data/dev/user-1 -d @data/dev/write.json \\"))
        #expect(lines.contains("    http://127.0.0.1:\(port)/dev/write"))
        #expect(lines.allSatisfy { $0.count <= CurlLine.columns }, "\(lines)")
        #expect(!lines.contains { $0.contains("eyJ") })
    }

    @Test func theConnectorReadsTheTokenFromItsFile() {
        let text = Self.announcement(in: "/home/anna/todos").lines.joined(separator: "\n")
        #expect(text.contains(#"uploadURL: "http://127.0.0.1:8080/dev/write""#))
        #expect(text.contains(#"let file = "/home/anna/todos/data/dev/user-1.token""#))
    }

    @Test func aProjectElsewhereHasWholePaths() {
        let files = DevelopmentFiles(beside: "/srv/my app/data/source.db", workingFolder: "/home/anna")
        #expect(files.path("user-1") == "/srv/my app/data/dev/user-1")
        let announcement = DevelopmentAnnouncement(
            address: Self.address,
            dashboard: nil,
            seed: nil,
            users: ["user-1"],
            files: files,
            hasUpload: false
        )
        #expect(announcement.lines.contains { $0.contains("-H @'/srv/my app/data/dev/user-1'") })
        #expect(!announcement.lines.contains { $0.contains("/dev/write.json") })
    }

    @Test(arguments: [
        ("user-1", "user-1"), ("auth0|7", "auth0%7C7"), ("../x", "%2E%2E%2Fx"), ("write.json", "write%2Ejson"),
        ("", "%"), ("ä", "%C3%A4"), ("%", "%25"),
    ])
    func aUserIsNoPath(user: String, name: String) {
        #expect(DevelopmentFiles.name(of: user) == name)
    }

    @Test func onlyTheUserOfTheProcessReadsTokens() throws {
        let folder = try TemporaryFolder()
        let files = DevelopmentFiles(beside: folder.path("data/source.db"), workingFolder: folder.path(""))
        try files.write(tokens: ["u": "old"], upload: nil)
        try files.write(tokens: ["u": "t"], upload: "{}")
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(folder.path("data/dev")) == 0o700)
        for (name, text) in [
            ("u", "Authorization: Token t\nContent-Type: application/json\n"), ("u.token", "t"), ("write.json", "{}"),
            ("json.headers", "Content-Type: application/json\n"),
        ] {
            #expect(try mode(folder.path("data/dev/\(name)")) == 0o600)
            #expect(try String(contentsOfFile: folder.path("data/dev/\(name)"), encoding: .utf8) == text)
        }
    }
}
