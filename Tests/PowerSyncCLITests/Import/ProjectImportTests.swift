import Foundation
import TestSupport
import Testing

@testable import PowerSyncCLI

/// `powersync import` over folders of apps of the established service.
@Suite struct ProjectImportTests {
    private static func folder(of project: ImportCorpus.Project) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (path, text) in project.files {
            let file = URL(filePath: folder.path(path))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return folder
    }

    @Test func theCorpusHasTenFolders() {
        #expect(ImportCorpus.all.count == 10)
    }

    @Test(arguments: ImportCorpus.all.filter { $0.refusal == nil })
    func aFolderIsTakenOver(_ expected: ImportCorpus.Project) throws {
        let folder = try Self.folder(of: expected)
        let found = try EstablishedProject(in: folder.path(""), service: expected.named)
        #expect(found.schema == expected.schema)
        let project = try ProjectImport(found)
        let lines = project.configuration.split(separator: "\n").map { String($0) }
        for line in expected.service { #expect(lines.contains(line), "\(line): \(project.configuration)") }
        for secret in expected.secrets { #expect(!project.configuration.contains(secret), "\(secret)") }
        let sync = project.syncConfig?.split(separator: "\n").map { String($0) } ?? []
        for line in expected.sync { #expect(sync.contains(line), "\(line): \(sync)") }
        for beginning in expected.printed {
            #expect(project.lines.contains { $0.hasPrefix(beginning) }, "\(beginning): \(project.lines)")
        }
        #expect(project.isUsable == expected.isUsable, "\(project.findings)")
        for secret in project.conversion.secrets {
            guard let value = secret.value else { continue }
            #expect(!project.lines.joined().contains(value))
        }
    }

    @Test(arguments: ImportCorpus.all.filter { $0.refusal != nil })
    func whatCannotBeTakenOverIsSaid(_ expected: ImportCorpus.Project) throws {
        let folder = try Self.folder(of: expected)
        let found = try EstablishedProject(in: folder.path(""))
        #expect {
            try ProjectImport(found)
        } throws: { error in
            "\(error)".contains(expected.refusal ?? "?")
        }
    }

    @Test func severalConfigurationsAreNamed() throws {
        let folder = try Self.folder(of: ImportCorpus.several)
        #expect {
            try EstablishedProject(in: folder.path(""))
        } throws: { error in
            "\(error)".contains("env/dev/service.yaml, env/prod/service.yaml. Name one with --file")
        }
        let empty = try TemporaryFolder()
        #expect(throws: EstablishedProject.NotFound.self) { try EstablishedProject(in: empty.path("")) }
    }

    @Test func secretsAreInAFileThatOnlyTheirUserReads() throws {
        let folder = try Self.folder(of: ImportCorpus.files)
        let project = try ProjectImport(EstablishedProject(in: folder.path("")))
        try project.write()
        func mode(_ name: String) throws -> Int? {
            let path = folder.path("powersync-swift/\(name)")
            return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode("powersync.env") == 0o600)
        #expect(try mode("powersync.yaml") == 0o644 && mode(".powersync/service.schema.json") == 0o644)
        let variables = try String(contentsOfFile: folder.path("powersync-swift/powersync.env"), encoding: .utf8)
        #expect(variables.contains("PS_DATA_SOURCE_PASSWORD=hunter2\n"))
        #expect(variables.contains("PS_STORAGE_URI=postgresql://storage:hunter3@db.example.com/buckets\n"))
        // Once more, nothing is overwritten.
        #expect(throws: ProjectFiles.AlreadyThere.self) { try project.write() }
        #expect(project.knownVariables["PS_ADMIN_TOKEN_2"] == "another-token")
    }

    @Test func yamlIsWrittenAsItIsRead() throws {
        let tree = YAMLTree.mapping([
            .init("a", .plain("1")), .init("b c", .text("x\n\"y\"")),
            .init(
                "list",
                .list([.mapping([.init("k", .variable("PS_X")), .init("l", .list([]))]), .list([.plain("2")])])
            ),
            .init("empty", .mapping([])),
        ])
        #expect(
            tree.yaml == """
                a: 1
                "b c": "x\\n\\"y\\""
                list:
                  - k: !env PS_X
                    l: []
                  - - 2
                empty: {}

                """
        )
    }
}
