/// The version of this package: of the SDK in its `User-Agent`, and of the `powersync` command.
package enum PackageVersion {
    /// The current version, for example `0.1.0`.
    package static let current = "0.1.0"
}
