import ArgumentParser
import Foundation
import PowerSyncBackend
import PowerSyncService
import TestSupport
import Testing

@testable import PowerSyncCLI

/// What `powersync init --backend` writes.
@Suite struct BackendFilesTests {
    private let files = BackendFiles(port: 8081, package: "https://example.com/powersync-swift")

    private func text(_ name: String) throws -> String {
        try #require(files.all.first { $0.name == "backend/\(name)" }).text
    }

    /// The Swift of the back end is that of the tests, where it is compiled and does its work.
    @Test(arguments: ["AppBackend.swift", "AppBackend+Rules.swift", "AppBackend+SignIn.swift", "AppBackendTests.swift"])
    func whatIsWrittenIsWhatIsTested(_ name: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "PowerSyncBackendTests/BackendTemplate")
        let tested = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        let isTest = name.hasSuffix("Tests.swift")
        let written = try text(isTest ? "Tests/BackendTests/\(name)" : "Sources/Backend/\(name)")
        #expect(written.replacing("import Testing\n\n@testable import Backend\n", with: "import Testing\n") == tested)
    }

    @Test func theManifestSaysWhereThePackageIs() throws {
        let url = #".package(url: "https://example.com/powersync-swift", from: "0.1.0", traits: ["Service"]),"#
        #expect(try text("Package.swift").contains(url))
        let local = BackendFiles(port: 1, package: "/src/powersync-swift").all[0].text
        #expect(
            local.contains(#".package(name: "powersync-swift", path: "/src/powersync-swift", traits: ["Service"]),"#)
        )
        #expect(try text("Sources/Backend/main.swift").contains("?? 8081)"))
    }

    /// The service takes what the back end signs, and has no key to sign itself.
    @Test func theServiceHasThePublicHalfOfTheKey() async throws {
        let folder = try TemporaryFolder()
        var project = ProjectFiles(port: 8080)
        project.backend = files
        try project.write(to: URL(filePath: folder.path("app"), directoryHint: .isDirectory))
        let configuration = try ServiceConfiguration(contentsOf: folder.path("app/powersync.yaml"), environment: [:])
        #expect(configuration.authentication.keys.count == 2)
        #expect(configuration.authentication.audience == ["powersync-dev"])
        let path = folder.path("app/backend/signing-key.json")
        let key = try SigningKey(jwk: String(contentsOfFile: path, encoding: .utf8))
        #expect(key.publicJWK == files.publicKey)
        let yaml = try String(contentsOfFile: folder.path("app/powersync.yaml"), encoding: .utf8)
        #expect(yaml.contains(files.publicKey) && !yaml.contains(#""d":"#))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // Nothing is written over.
        #expect(throws: ProjectFiles.AlreadyThere.self) {
            try project.write(to: URL(filePath: folder.path("app"), directoryHint: .isDirectory))
        }
    }

    @Test(arguments: [
        (["--backend", "--source", "mysql"], "leave one of the two out"), (["--package", "/x"], "--package is for"),
    ])
    func optionsThatDoNotGoTogetherAreRefused(_ arguments: [String], _ message: String) {
        #expect { try InitCommand.parse(arguments) } throws: { "\(InitCommand.message(for: $0))".contains(message) }
    }
}
