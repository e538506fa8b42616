extension String {
    /// The text as a word of a shell's command, on one line.
    package var shellWord: String {
        let isPlain = unicodeScalars.allSatisfy { $0.properties.isXIDContinue || "/.-_+@:".unicodeScalars.contains($0) }
        return isPlain && !isEmpty ? self : "'\(replacing("'", with: "'\\''").replacing("\n", with: " "))'"
    }
}
