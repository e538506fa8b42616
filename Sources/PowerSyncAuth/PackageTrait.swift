#if !Service && !Testing
#error("This needs a package trait, \"Service\" or \"Testing\": docs/packages.md")
#endif
