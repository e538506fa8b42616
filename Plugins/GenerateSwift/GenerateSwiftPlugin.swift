import Foundation
import PackagePlugin

/// `swift package generate-powersync …`: what `powersync generate swift …` does, in the folder of the package (docs/generate.md).
@main
struct GenerateSwiftPlugin: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) async throws {
        let process = Process()
        process.executableURL = try builtTool()
        process.arguments = arguments
        process.currentDirectoryURL = context.package.directoryURL
        try process.run()
        process.waitUntilExit()
        // It has said what is wrong.
        if process.terminationStatus != 0 { exit(process.terminationStatus) }
    }

    /// Builds the tool, as a part of the package's own build.
    ///
    /// As a dependency of the plugin, it and every module below it would be compiled once more, for the machine that builds, though
    /// the package's build has most of them.
    private func builtTool() throws -> URL {
        let build = try packageManager.build(.product("PowerSyncGenerate"), parameters: .init(configuration: .inherit))
        guard build.succeeded, let tool = build.builtArtifacts.first(where: { $0.kind == .executable }) else {
            FileHandle.standardError.write(Data(build.logText.utf8))
            exit(1)
        }
        return tool.url
    }
}
