import eslint from '@eslint/js'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  {
    ignores: [
      'dist/',
      'node_modules/',
      '.tap/',
      '.data/',
      'tests/fixtures/types/database.types.ts',
      'tests/fixtures/functions/',
    ],
  },
  eslint.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js', '*.mjs', 'tests/*.mjs', 'tests/support/costs/*.mjs'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      // Records of plain data are types, not interfaces to be extended.
      '@typescript-eslint/consistent-type-definitions': ['error', 'type'],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
    },
  },
  {
    // tap awaits what a test returns, and an async test without an await is its plain form.
    files: ['tests/**'],
    rules: { '@typescript-eslint/no-floating-promises': 'off', '@typescript-eslint/require-await': 'off' },
  },
  {
    // Only the types of the results matter there.
    files: ['tests/fixtures/types/queries.ts'],
    rules: { '@typescript-eslint/no-unused-vars': 'off' },
  },
  {
    // Interfaces of globals, which other declarations extend.
    files: ['tests/browser/support/dom.d.ts'],
    rules: { '@typescript-eslint/consistent-type-definitions': ['error', 'interface'] },
  },
  { files: ['*.js', 'tests/**/*.mjs'], ...tseslint.configs.disableTypeChecked },
)
