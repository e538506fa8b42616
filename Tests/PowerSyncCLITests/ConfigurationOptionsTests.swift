import Testing

@testable import PowerSyncCLI

/// Commands that other commands print, for people who paste them.
@Suite struct ConfigurationOptionsTests {
    @Test(
        "A printed command is about the same service",
        arguments: [
            (nil, "powersync teardown TEARDOWN"),
            ("other.yaml", "powersync teardown TEARDOWN --config other.yaml"),
            ("my service/it's.yaml", #"powersync teardown TEARDOWN --config 'my service/it'\''s.yaml'"#),
        ] as [(String?, String)]
    )
    func commandNamesTheConfiguration(_ file: String?, _ command: String) {
        var options = ConfigurationOptions()
        options.file = file
        #expect(options.command("teardown TEARDOWN") == command)
    }
}
