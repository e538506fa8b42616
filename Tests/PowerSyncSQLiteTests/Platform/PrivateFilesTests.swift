import Foundation
import PowerSyncSQLite
import Testing

/// Files and folders for the user of the process alone.
///
/// What the umask does is tested with processes of their own.
@Suite struct PrivateFilesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-\(UUID().uuidString)").path

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func mode(_ name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + name)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    private func set(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder + name)
    }

    @Test func aNewFileIsPrivateAndOneThatIsThereStaysAsItIs() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        PrivateFiles.createFile(at: folder + "/new")
        #expect(try mode("/new") == 0o600)
        try Data("rows".utf8).write(to: URL(filePath: folder + "/old"))
        try set(0o664, of: "/old")
        PrivateFiles.createFile(at: folder + "/old")
        #expect(try mode("/old") == 0o664)
        #expect(try String(contentsOfFile: folder + "/old", encoding: .utf8) == "rows")
        // Whoever opens it meets the error.
        PrivateFiles.createFile(at: folder + "/no/such/folder")
    }

    @Test(arguments: ["/a", "/a/b/c", "/a//b/", "/ä b/c"])
    func newFoldersArePrivate(_ path: String) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try set(0o755, of: "")
        try PrivateFiles.createFolder(at: folder + path)
        try PrivateFiles.createFolder(at: folder + path)
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            #expect(try mode("/" + name) == 0o700)
        }
        #expect(try mode(path) == 0o700)
        #expect(try mode("") == 0o755)
    }

    @Test func aFileInTheWayIsAnError() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data().write(to: URL(filePath: folder + "/file"))
        #expect(throws: POSIXError.self) { try PrivateFiles.createFolder(at: folder + "/file") }
        #expect(throws: POSIXError.self) { try PrivateFiles.createFolder(at: folder + "/file/in/it") }
        #expect(throws: POSIXError.self) { try PrivateFiles.createFolder(at: "") }
    }

    @Test func aReplacedFileIsNotTheOneThatWasOpened() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/a"
        #expect(FileIdentity(path: path) == nil)
        try Data().write(to: URL(filePath: path))
        let first = FileIdentity(path: path)
        #expect(first != nil && first == FileIdentity(path: path))
        try FileManager.default.moveItem(atPath: path, toPath: folder + "/b")
        try Data().write(to: URL(filePath: path))
        #expect(FileIdentity(path: path) != first)
        #expect(FileIdentity(path: folder + "/b") == first)
    }
}
