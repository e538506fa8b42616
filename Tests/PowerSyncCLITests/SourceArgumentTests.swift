import Foundation
import PowerSyncService
import TestSupport
import Testing

@testable import PowerSyncCLI

/// `--source` of commands: a file, or an address whose password nobody is shown.
@Suite struct SourceArgumentTests {
    @Test func aFileIsAFileWhateverItsName() throws {
        let folder = try TemporaryFolder()
        for name in ["app.db", "a=b.db", "me@home.db"] {
            try Data().write(to: folder.url.appending(path: name))
            guard case .file(let path) = try SourceArgument(folder.path(name)) else {
                Issue.record("\(name) is no file")
                continue
            }
            #expect(path == folder.path(name))
        }
    }

    @Test(arguments: ["postgresql://me:hunter2@127.0.0.1:1/app", "host=h dbname=d user=u password=hunter2"])
    func anAddressIsAServer(_ address: String) throws {
        guard case .postgres(let settings) = try SourceArgument(address) else {
            Issue.record("no server")
            return
        }
        #expect(settings.hasPassword)
        #expect(!"\(settings)".contains("hunter2"))
    }

    @Test(arguments: [
        "postgresql://me:hun@ter2@h/app", "postgres:/me:hunter2@h/app", "mysql://me:hunter2@h/app",
        "postgresql//me:hunter2@h/app", "postgresql://me:hunter2%@h/app", "password=hunter2 host",
        "me:hunter2@h/app",
        "postgresql://me:hunter2@h/app?what=1", "postgresql://me:12/hunter2@h/app",
        "jdbc:postgresql://h/app?password=hunter2",
    ])
    func whatCannotBeUsedIsNotShown(_ address: String) {
        let error = #expect(throws: ServiceError.self) { try SourceArgument(address) }
        #expect(error.map { !"\($0)".contains("ter2") && "\($0)".hasPrefix("--source") } == true, "\(error as Any)")
    }

    @Test func aMissingFileIsNamed() {
        #expect {
            try SourceArgument("missing.db")
        } throws: { error in
            "\(error)" == "cannot read the source missing.db: there is no such file"
        }
    }
}
