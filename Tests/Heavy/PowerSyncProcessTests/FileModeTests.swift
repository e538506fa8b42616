import Foundation
import LocalDatabaseWorker
import TestSupport
import Testing

/// Nobody but the user of a process reads the files that it makes, whatever the umask.
@Suite(.timeLimit(.minutes(5))) struct FileModeTests {
    /// The mode of everything in a folder, by path.
    private func modes(in folder: URL) throws -> [String: Int] {
        var modes: [String: Int] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: name).path)
            modes[name] = (attributes[.posixPermissions] as? NSNumber)?.intValue
        }
        return modes
    }

    private func expectPrivate(_ modes: [String: Int], _ folders: Set<String>) {
        for (name, mode) in modes {
            #expect(mode == (folders.contains(name) ? 0o700 : 0o600), "\(name): \(String(mode, radix: 8))")
        }
    }

    @Test(arguments: ["000", "022", "077", "777"])
    func ofAProjectAndOfItsService(umask: String) async throws {
        let folder = try TemporaryFolder()
        let port = FreePort.take()
        let made = try ShellLine("umask \(umask)", "powersync init app --port \(port)", in: folder.url)
        _ = await made.lines()
        #expect(await made.end() == 0)
        let app = folder.url.appending(path: "app")
        let service = try ShellLine("umask \(umask)", "powersync serve", in: app)
        let said = await service.lines { $0.contains("The service is ready") }
        #expect(said.last?.contains("The service is ready") == true, "\(said)")
        let modes = try modes(in: folder.url)
        expectPrivate(modes, ["app", "app/.powersync", "app/data"])
        let names = ["source.db", "buckets.db"].flatMap { [$0, $0 + "-wal", $0 + "-shm"] } + ["buckets.db.lock"]
        for name in names { #expect(modes["app/data/" + name] != nil, "\(name) is missing") }
        let doctor = try ShellLine("powersync doctor", in: app)
        #expect(
            await doctor.lines().filter { $0.contains("every user of this machine") || $0.contains("other users") }
                == []
        )
        await service.end(by: SIGKILL)
    }

    @Test
    func thatWereThereStayAsTheyAreAndTheDoctorSaysSo() async throws {
        let folder = try TemporaryFolder()
        let made = try ShellLine("powersync init app --port \(FreePort.take())", in: folder.url)
        _ = await made.lines()
        #expect(await made.end() == 0)
        let app = folder.url.appending(path: "app")
        let paths = ["data/source.db", "data/buckets.db"].map { app.appending(path: $0).path }
        var service = try ShellLine("powersync serve", in: app)
        _ = await service.lines { $0.contains("The service is ready") }
        await service.end(by: SIGKILL)
        for (path, mode) in [(app.path, 0o755), (app.path + "/data", 0o755), (paths[0], 0o644), (paths[1], 0o666)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        service = try ShellLine("powersync serve", in: app)
        _ = await service.lines { $0.contains("The service is ready") }
        let modes = try modes(in: app)
        #expect(modes["data"] == 0o755 && modes["data/source.db"] == 0o644 && modes["data/buckets.db"] == 0o666)
        let said = try await ShellLine("powersync doctor", in: app).lines().joined(separator: "\n")
        #expect(said.contains("every user of this machine can read the file"))
        #expect(said.contains("every user of this machine can change the file"))
        #expect(said.contains("chmod o= '"))
        await service.end(by: SIGKILL)
    }

    @Test(arguments: ["000", "022", "777"])
    func ofAClient(umask: String) async throws {
        let folder = try TemporaryFolder()
        var task = WorkerTask(.write, path: folder.path("deep/er/a.db"))
        task.name = "w"
        let worker = try WorkerProcess(argument: task.argument(), by: "umask \(umask); exec")
        try await worker.wait(for: "1")
        let modes = try modes(in: folder.url)
        expectPrivate(modes, ["deep", "deep/er"])
        #expect(modes["deep/er/a.db"] != nil && modes["deep/er/a.db-wal"] != nil)
        await worker.kill()
    }
}
