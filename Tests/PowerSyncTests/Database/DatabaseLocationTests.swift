import Foundation
import TestSupport
import Testing

@testable import PowerSyncClient

@Suite struct DatabaseLocationTests {
    private func resolve(_ name: String) throws -> DatabaseLocation {
        try DatabaseLocation.resolve(name) { URL(fileURLWithPath: "/data/databases") }
    }

    @Test(
        arguments: [
            (":memory:", DatabaseLocation.memory),
            ("/tmp/a.db", .file(path: "/tmp/a.db")),
            ("a.db", .file(path: "/data/databases/a.db")),
            ("user/1/a.db", .file(path: "/data/databases/user/1/a.db")),
            ("..a.db", .file(path: "/data/databases/..a.db")),
        ]
    )
    func fileNameIsAPlace(_ name: String, _ location: DatabaseLocation) throws {
        #expect(try resolve(name) == location)
    }

    @Test(arguments: ["../a.db", "a/../../b.db", "..", ""])
    func namesThatLeaveTheDirectoryAreRefused(_ name: String) {
        #expect(throws: PowerSyncError.self) { try resolve(name) }
    }

    @Test func defaultDirectoryIsForThisUser() throws {
        let directory = try DatabaseLocation.defaultDirectory()
        #expect(directory.lastPathComponent == "databases")
        #expect(directory.path.hasPrefix("/"))
    }

    @Test func aliasesOfOneFileAreIdentical() async throws {
        try await withTemporaryDirectory { directory in
            let link = directory.appendingPathComponent("link")
            let target = directory.appendingPathComponent("target")
            try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
            let paths = ["target/a.db", "link/a.db", "target/../target/a.db", "./target/a.db"]
            let identities = paths.map { DatabaseLocation.file(path: directory.path + "/" + $0).identity }
            #expect(Set(identities).count == 1)
            #expect(DatabaseLocation.memory.identity == nil)
        }
    }

    /// SQLite follows links, and puts the log beside the file.
    @Test func aLinkIsTheFileThatItLeadsTo() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appendingPathComponent("folder")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = folder.appendingPathComponent("a.db").path
            for (name, target) in [("absolute", file), ("relative", "folder/a.db"), ("second", "absolute")] {
                try FileManager.default.createSymbolicLink(
                    atPath: directory.appendingPathComponent(name).path,
                    withDestinationPath: target
                )
                // Also before there is a file.
                let location = try DatabaseLocation.resolve(directory.appendingPathComponent(name).path)
                #expect(location.identity == DatabaseLocation.file(path: file).identity)
            }
            try FileManager.default.createSymbolicLink(
                atPath: directory.appendingPathComponent("loop").path,
                withDestinationPath: "loop"
            )
            _ = try DatabaseLocation.resolve(directory.appendingPathComponent("loop").path)

            let link = directory.appendingPathComponent("second").path
            let database = PowerSyncDatabase(schema: testSchema, dbFilename: link, logger: DefaultLogger(writers: []))
            try await database.insertUser("Ada")
            #expect(FileManager.default.fileExists(atPath: file))
            try await database.close(deleteDatabase: true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }
}
